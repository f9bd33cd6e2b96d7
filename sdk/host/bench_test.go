//go:build unix

package host

import (
	"context"
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// fast are plugins of every kind that do as little as they can, so that what is
// measured is the way to them.
func fast() []plugin.Plugin {
	return []plugin.Plugin{
		lengths(),
		auth.AuthenticatorPlugin(plugin.Plugin{Name: "all", Version: "1", Features: []string{auth.FeaturePassword}},
			func(context.Context, plugin.Config) (auth.Authenticator, error) { return everybody{}, nil }),
		auth.AuthorizerPlugin(plugin.Plugin{Name: "none", Version: "1"},
			func(context.Context, plugin.Config) (auth.Authorizer, error) { return takesRules{}, nil }),
		storage.Plugin(plugin.Plugin{Name: "keep", Version: "1"},
			func(context.Context, plugin.Config) (storage.Retention, error) { return keepAll{}, nil }),
	}
}

// everybody accepts.
type everybody struct{ auth.NoCredentials }

func (everybody) VerifyPassword(_ context.Context, p *auth.Peer, user string, _ []byte) (auth.Result, error) {
	return auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: user, Nonce: p.Nonce}, nil
}

// BenchmarkStart is from nothing to the first answer, and to the end of the process.
func BenchmarkStart(b *testing.B) {
	for _, name := range []string{"fast", "native"} {
		b.Run(name, func(b *testing.B) {
			c := behaviour(b, name)
			for b.Loop() {
				p, err := Launch(b.Context(), c)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				stopNow(b, p)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkCall is one call of each kind, to a process and in memory.
func BenchmarkCall(b *testing.B) {
	process, err := Launch(b.Context(), behaviour(b, "fast"))
	if err != nil {
		b.Fatal(err)
	}
	defer stopNow(b, process)
	memory, err := InProcess(fast()...)
	if err != nil {
		b.Fatal(err)
	}
	defer memory.Stop(b.Context())
	for name, target := range map[string]Target{"process": process, "memory": memory} {
		b.Run(name, func(b *testing.B) { callAll(b, target) })
	}
	if rss, err := process.RSS(); err == nil {
		b.Logf("memory of the process: %d MiB", rss>>20)
	}
}

func callAll(b *testing.B, target Target) {
	instance := func(kind plugin.Kind, name string) *Instance {
		in, err := target.Configure(b.Context(), kind, name, plugin.Config{})
		if err != nil {
			b.Fatal(err)
		}
		return in
	}
	p, _ := instance(plugin.Partitioner, "lengths").Partitioner()
	a, _ := instance(plugin.Authenticator, "all").Authenticator()
	z, _ := instance(plugin.Authorizer, "none").Authorizer()
	r, _ := instance(plugin.Retention, "keep").Retention()
	run := func(name string, call func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, n := range []int{1, 100, 1000} {
		q := &partitioner.Request{Topic: "orders", Partitions: 12, Keys: make([][]byte, n)}
		actions := make([]auth.Action, n)
		logs := make([]storage.LogFacts, n)
		for i := range n {
			q.Keys[i] = fmt.Appendf(nil, "key-%08d", i)
			actions[i] = auth.Action{Operation: auth.OpRead, Resource: auth.Topic, Name: fmt.Sprintf("topic-%d", i)}
			logs[i] = storage.LogFacts{Topic: fmt.Sprintf("topic-%d", i), Segments: make([]storage.SegmentFacts, 2)}
		}
		out, decided := make([]int32, n), make([]auth.Decision, n)
		run(fmt.Sprintf("partitioner/keys=%d", n), func() error { return p.Assign(b.Context(), q, out) })
		run(fmt.Sprintf("authorizer/actions=%d", n), func() error {
			return z.Authorize(b.Context(), &auth.Client{PrincipalType: "User", PrincipalName: "alice"}, actions, decided)
		})
		run(fmt.Sprintf("retention/logs=%d", n), func() error {
			_, err := r.Decide(b.Context(), logs)
			return err
		})
	}
	peer := &auth.Peer{Listener: "SASL", Mechanism: "PLAIN", Host: "10.0.0.1", Nonce: []byte("0123456789abcdef")}
	run("authenticator/password", func() error {
		_, err := a.VerifyPassword(b.Context(), peer, "alice", []byte("secret"))
		return err
	})
}
