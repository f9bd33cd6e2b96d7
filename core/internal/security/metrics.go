package security

import "github.com/mortisemq/mortise/core/metrics"

// secondsBounds are for plugins that answer in microseconds to seconds.
var secondsBounds = [...]float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5}

// gateMetrics count authentications.
type gateMetrics struct {
	accepted, refused, unavailable, remembered *metrics.Counter
	seconds                                    *metrics.Histogram
}

func newGateMetrics(r *metrics.Registry) *gateMetrics {
	const help = "Authentications by outcome: accepted, refused (the credential is wrong), unavailable (the authenticator gave no answer; the client tries again)."
	of := func(outcome string) *metrics.Counter {
		return r.Counter("mortise_security_authentications_total", help, "outcome", outcome)
	}
	return &gateMetrics{accepted: of("accepted"), refused: of("refused"), unavailable: of("unavailable"),
		remembered: r.Counter("mortise_security_authentications_remembered_total", "Authentications that were answered from memory, without the authenticator."),
		seconds:    r.Histogram("mortise_security_authentication_seconds", "Time to find out who a client is.", secondsBounds[:])}
}

// authorizerMetrics count decisions.
type authorizerMetrics struct {
	denied, unknown, asked, misses, superUser *metrics.Counter
}

func newAuthorizerMetrics(r *metrics.Registry) *authorizerMetrics {
	return &authorizerMetrics{
		denied:    r.Counter("mortise_security_denied_total", "Actions that were denied."),
		unknown:   r.Counter("mortise_security_undecided_total", "Actions that no authorizer gave an answer about: the client's connection is closed, and it tries again."),
		asked:     r.Counter("mortise_security_authorizer_calls_total", "Questions to authorizers, each about one or more actions."),
		misses:    r.Counter("mortise_security_decision_misses_total", "Actions whose decision was not remembered."),
		superUser: r.Counter("mortise_security_super_user_total", "Actions of super users, which are allowed without asking."),
	}
}
