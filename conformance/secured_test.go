package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

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

// TestEveryKeyMeetsAccessRules: no key that a broker answers is missing in the secured
// transcripts, which tell what Kafka asks its authorizer for each.
func TestEveryKeyMeetsAccessRules(t *testing.T) {
	paths, err := filepath.Glob("testdata/secured/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	played := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) > 1 && words[0] == ">" {
				played[words[1]] = true
			}
		}
	}
	// Kafka lets everybody who has logged in ask these.
	played[kmsg.GetTelemetrySubscriptions.Name()], played[kmsg.PushTelemetry.Name()] = true, true
	b := brokertest.Start(t, brokertest.Options{Loopback: true, ClientTelemetry: true})
	r, err := kmsg.NewPtrApiVersionsRequest().RequestWith(t.Context(), b.Client())
	if err != nil || len(r.ApiKeys) == 0 {
		t.Fatal(err, r)
	}
	for _, k := range r.ApiKeys {
		if name := kmsg.NameForKey(k.ApiKey); !played[name] {
			t.Errorf("no secured transcript asks %s (%d)", name, k.ApiKey)
		}
	}
}

// TestSecuredTranscripts plays conversations with a Kafka 4.4 that has logins and
// access rules: StandardAuthorizer there, the acl plugin here.
func TestSecuredTranscripts(t *testing.T) {
	each(t, "testdata/secured", func(t *testing.T, f *transcript.File) {
		replay(t, f, brokertest.Start(t, brokertest.Options{Loopback: true, Static: static,
			SASL:     &broker.SASL{Mechanisms: []string{"PLAIN"}, Authenticator: transcriptUsers{}, SuperUsers: true},
			Security: broker.Security{SuperUsers: []string{"User:admin"}, Plugins: []string{"acl"}},
			Plugins: broker.Plugins{Builtins: []plugin.Plugin{acl.Plugin()}, Catalogue: []pluginhost.Spec{
				{Name: "acl", Kind: plugin.Authorizer, Builtin: "acl", Enabled: true, Timeout: pluginhost.Duration(pluginhost.TimeoutMax)}}},
		}).Dial)
	})
}
