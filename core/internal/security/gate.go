package security

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Plain is the mechanism of user names with passwords (RFC 4616).
const Plain = "PLAIN"

// Listener is how the clients of one listener authenticate.
type Listener struct {
	Name             string
	SecurityProtocol string   // SASL_PLAINTEXT
	Mechanisms       []string // enabled; Plain is the one that there is
	Authenticator    auth.Authenticator
	SuperUsers       bool // the authenticator may say that a client is a reserved principal
	// Generation numbers who the authenticator is: what another one accepted does not
	// count. nil: it is always the same.
	Generation func() uint64
}

// generation is the number of the authenticator in service.
func (l *Listener) generation() uint64 {
	if l.Generation == nil {
		return 0
	}
	return l.Generation()
}

// GateOptions make a Gate. All but Log and Metrics are required.
type GateOptions struct {
	Listeners []Listener // those that need authentication
	// Reserved says that only a listener with SuperUsers may have this principal.
	Reserved func(principal string) bool
	// MaxReauth is after how long clients must authenticate anew
	// (connections.max.reauth.ms); 0: never. It is asked for each session.
	MaxReauth func() time.Duration
	Clock     clock.Clock
	Log       *slog.Logger      // nil: nothing is logged
	Metrics   *metrics.Registry // nil: a private one
}

// Gate authenticates connections by SASL (KIP-43, KIP-152, KIP-368). Requests of
// different connections may be served concurrently, those of one must come one after
// the other.
type Gate struct {
	opt       GateOptions
	listeners map[string]*Listener
	silence   map[string]*complaint // of the listeners' authenticators; the map never changes
	accepted  *accepted
	m         *gateMetrics
}

// NewGate makes a Gate.
func NewGate(o GateOptions) *Gate {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	g := &Gate{opt: o, listeners: map[string]*Listener{}, silence: map[string]*complaint{}, accepted: newAccepted(), m: newGateMetrics(o.Metrics)}
	for _, l := range o.Listeners {
		g.listeners[l.Name], g.silence[l.Name] = &l, &complaint{}
	}
	return g
}

// First is the identity that a connection of the listener begins with; nil: it has
// to authenticate.
func (g *Gate) First(listener string) *wire.Identity {
	if g.listeners[listener] != nil {
		return nil
	}
	return wire.AnonymousIdentity()
}

// exchange is where a connection is in its SASL exchange. It hangs on the
// connection, whose SASL requests come one after the other.
type exchange struct {
	mechanism string // agreed on; empty: none yet
	tokens    bool   // the client sends bare tokens
	over      bool   // the client was refused
}

// of is the exchange of a connection.
func of(c *wire.ConnInfo) *exchange {
	x, ok := c.Exchange.(*exchange)
	if !ok {
		x = new(exchange)
		c.Exchange = x
	}
	return x
}

// endless says that the client of a connection is known once and for all: only who has
// a session with an end, from whomever, may authenticate anew (as Kafka has it).
func endless(c *wire.ConnInfo) bool {
	i := c.Identity()
	return i != nil && i.Until.IsZero()
}

// Handshake is the answer to SaslHandshake.
type Handshake struct {
	Code       kafka.ErrorCode
	Mechanisms []string // that the listener has
	Close      error    // close the connection after the answer
	Drop       error    // close it without an answer
}

// Handshake agrees on a mechanism.
func (g *Gate) Handshake(c *wire.ConnInfo, mechanism string, version int16) Handshake {
	l, x := g.listeners[c.Listener], of(c)
	again := c.Identity() != nil
	switch {
	case l == nil, endless(c):
		return Handshake{Code: kafka.ErrIllegalSaslState}
	case x.over:
		return Handshake{Drop: fmt.Errorf("%w: a SaslHandshake after a refusal", ErrOrder)}
	case !again && x.mechanism != "":
		x.over = true
		return Handshake{Code: kafka.ErrIllegalSaslState, Close: fmt.Errorf("%w: a second SaslHandshake", ErrOrder)}
	case again && (version == 0 || x.mechanism != mechanism):
		return Handshake{Code: kafka.ErrIllegalSaslState, Mechanisms: l.Mechanisms,
			Close: fmt.Errorf("%w: authentication anew with another mechanism", ErrOrder)}
	case !slices.Contains(l.Mechanisms, mechanism):
		x.over = true
		return Handshake{Code: kafka.ErrUnsupportedSaslMechanism, Mechanisms: l.Mechanisms,
			Close: fmt.Errorf("%w: %.64q, have %v", ErrMechanism, mechanism, l.Mechanisms)}
	}
	x.mechanism, x.tokens = mechanism, version == 0
	c.ExpectTokens(x.tokens)
	return Handshake{Mechanisms: l.Mechanisms}
}

// Outcome is the answer to SaslAuthenticate or to a bare token.
type Outcome struct {
	Code     kafka.ErrorCode
	Message  string
	Lifetime time.Duration // of the session; 0: no end
	Close    error         // close the connection after the answer
	Drop     error         // close it without an answer
}

// Authenticate takes the client's token. It may block for as long as the
// authenticator takes.
func (g *Gate) Authenticate(ctx context.Context, c *wire.ConnInfo, token []byte) Outcome {
	l, x := g.listeners[c.Listener], of(c)
	switch {
	case l == nil, endless(c):
		return Outcome{Code: kafka.ErrIllegalSaslState, Message: "SaslAuthenticate request received after successful authentication"}
	case x.mechanism == "" || x.over:
		return Outcome{Drop: fmt.Errorf("%w: SaslAuthenticate without SaslHandshake", ErrOrder)}
	}
	credential, refusal := parsePlain(token)
	if refusal != "" {
		return g.refuse(c, x, refusal, "")
	}
	began := g.opt.Clock.Now()
	result, err := g.verify(ctx, c, l, credential)
	g.m.seconds.Observe(g.opt.Clock.Now().Sub(began).Seconds())
	switch {
	case err != nil:
		x.over = true
		g.m.unavailable.Add(1)
		g.silence[l.Name].tell(g.opt.Clock.Now(), g.opt.Log, "authenticator gave no answer",
			slog.String("listener", l.Name), slog.String("peer", c.Host()), slog.Any("error", err))
		return Outcome{Drop: fmt.Errorf("%w: %w", ErrUnavailable, err)}
	case result.Outcome != auth.Accept:
		return g.refuse(c, x, wrongPassword, result.Reason)
	}
	return g.admit(c, x, &result)
}

// refuse ends the exchange. reason is for the log.
func (g *Gate) refuse(c *wire.ConnInfo, x *exchange, message, reason string) Outcome {
	x.over = true
	g.m.refused.Add(1)
	why := fmt.Errorf("%w: %s", ErrRefused, message)
	if reason != "" {
		why = fmt.Errorf("%w (%.200q)", why, reason)
	}
	if x.tokens {
		return Outcome{Drop: why}
	}
	return Outcome{Code: kafka.ErrSaslAuthenticationFailed, Message: message, Close: why}
}

// admit gives the connection its identity.
func (g *Gate) admit(c *wire.ConnInfo, x *exchange, r *auth.Result) Outcome {
	i := wire.NewIdentity(r.PrincipalType, r.PrincipalName, r.Groups...)
	if was := c.Identity(); was != nil && was.Principal != i.Principal {
		return g.refuse(c, x, fmt.Sprintf("Cannot change principals during re-authentication from %s.%s: %s.%s",
			was.Type, was.Name, i.Type, i.Name), "")
	}
	life := shorter(g.opt.MaxReauth(), r.Lifetime)
	if life > 0 {
		i.Until = g.opt.Clock.Now().Add(life)
	}
	c.ExpectTokens(false)
	c.SetIdentity(i)
	g.m.accepted.Add(1)
	return Outcome{Lifetime: life}
}

// shorter is the shorter of two spans, of which 0 is without end.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// verify asks memory, then the authenticator, and believes what is plausible.
func (g *Gate) verify(ctx context.Context, c *wire.ConnInfo, l *Listener, p plainCredential) (auth.Result, error) {
	now := g.opt.Clock.Now()
	key := g.accepted.key(l.Name, l.generation(), p)
	if r, ok := g.accepted.get(key, now); ok {
		g.m.remembered.Add(1)
		return r, nil
	}
	nonce := make([]byte, nonceSize)
	rand.Read(nonce) //nolint:errcheck // it never fails (crypto/rand)
	peer := &auth.Peer{Listener: l.Name, SecurityProtocol: l.SecurityProtocol, Mechanism: Plain,
		Host: c.Host(), Nonce: slices.Clone(nonce)}
	r, err := l.Authenticator.VerifyPassword(ctx, peer, p.user, p.password)
	switch {
	case err != nil:
		return auth.Result{}, err
	case r.Outcome == auth.Reject:
		return r, nil
	case r.Outcome != auth.Accept:
		return auth.Result{}, fmt.Errorf("the authenticator says that it is unavailable (%.200q)", r.Reason)
	case subtle.ConstantTimeCompare(nonce, r.Nonce) != 1:
		return auth.Result{}, fmt.Errorf("the answer is to another question: its nonce differs")
	}
	if err := g.plausible(l, &r); err != nil {
		return auth.Result{}, err
	}
	g.accepted.put(key, r, now)
	return r, nil
}

// nonceSize is the size in bytes of what an answer must echo.
const nonceSize = 16
