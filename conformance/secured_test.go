package conformance_test

import (
	"context"
	"testing"
	"time"

	"github.com/mortisemq/mortise/conformance/transcript"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/plugins/auth/acl"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// transcriptUsers knows the users of transcripts.
type transcriptUsers struct{ auth.NoCredentials }

func (transcriptUsers) VerifyPassword(_ context.Context, p *auth.Peer, user string, password []byte) (auth.Result, error) {
	switch user {
	case "admin", "alice", "bob":
		if string(password) == transcript.Password(user) {
			return auth.Result{Outcome: auth.Accept, PrincipalType: auth.UserType, PrincipalName: user, CacheTTL: time.Minute, Nonce: p.Nonce}, nil
		}
	}
	return auth.Result{Nonce: p.Nonce}, nil
}

// TestSecuredTranscripts plays conversations with a Kafka 4.4 that has logins and
// access rules: StandardAuthorizer there, the acl plugin here.
func TestSecuredTranscripts(t *testing.T) {
	each(t, "testdata/secured", func(t *testing.T, f *transcript.File) {
		replay(t, f, brokertest.Start(t, brokertest.Options{Loopback: true, Static: static,
			SASL:     &broker.SASL{Mechanisms: []string{"PLAIN"}, Authenticator: transcriptUsers{}, SuperUsers: true},
			Security: broker.Security{SuperUsers: []string{"User:admin"}, Plugins: []string{"acl"}},
			Plugins: broker.Plugins{Builtins: []plugin.Plugin{acl.Plugin()}, Catalogue: []pluginhost.Spec{
				{Name: "acl", Kind: plugin.Authorizer, Builtin: "acl", Enabled: true}}},
		}).Dial)
	})
}
