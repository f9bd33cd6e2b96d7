package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// TestEachKindServes brings up a plugin of each kind, asks it, disables it, enables
// it and takes it out of the catalogue.
func TestEachKindServes(t *testing.T) {
	for _, kind := range plugin.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, Options{ClusterID: "c", BrokerID: 7}, func(t *testing.T, w *world) {
				var config plugin.Config
				w.binary("/v1", kind, "1.2.3", func(p *fakeProcess) {
					p.configure = func(_ context.Context, c plugin.Config) error { config = c; return nil }
				})
				e := spec(kind, "/v1")
				e.Env, e.Args, e.Config = map[string]string{"B": "2", "A": "1"}, []string{"-x"}, []byte(`{"k": 1}`)
				w.must(e)
				if err := w.ask(t.Context(), kind); err != nil {
					t.Fatal(err)
				}
				if config.Instance != "p" || config.ClusterID != "c" || config.BrokerID != 7 || string(config.JSON) != `{"k": 1}` {
					t.Errorf("the plugin was configured with %+v", config)
				}
				c := w.process(0).command
				if strings.Join(c.Env, " ") != "A=1 B=2" || strings.Join(c.Args, " ") != "-x" || c.Digest[1] != 0x11 {
					t.Errorf("it was started as %+v", c)
				}
				s := w.state()
				if s.State != Serving || s.Version != "1.2.3" || s.Generation != 1 || s.Calls != 1 || s.PID != 4711 || s.Breaker != "closed" {
					t.Errorf("status %+v", s)
				}

				e.Enabled = false
				w.must(e)
				if err := w.ask(t.Context(), kind); !errors.Is(err, ErrUnavailable) {
					t.Errorf("a disabled plugin: %v, want ErrUnavailable", err)
				}
				synctest.Wait()
				if p := w.process(0); !p.ended() || p.drains.Load() != 1 {
					t.Errorf("disabled, its process runs: %t, its instance was closed %d times, want once", !p.ended(), p.drains.Load())
				}
				if s := w.state(); s.State != Disabled {
					t.Errorf("state %s, want disabled", s.State)
				}
				e.Enabled = true
				w.must(e)
				if err := w.ask(t.Context(), kind); err != nil {
					t.Errorf("enabled again: %v", err)
				}
				w.Apply(t.Context(), nil)
				if err := w.ask(t.Context(), kind); !errors.Is(err, ErrNotFound) {
					t.Errorf("out of the catalogue: %v, want ErrNotFound", err)
				}
				w.must(e)
				if err := w.ask(t.Context(), kind); err != nil {
					t.Errorf("in the catalogue again: %v", err)
				}
			})
		})
	}
}

// TestSameEntryIsNotTouched holds that a catalogue that comes again starts nothing.
func TestSameEntryIsNotTouched(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Partitioner, "1.0.0")
		e := spec(plugin.Partitioner, "/v1")
		w.must(e)
		e.Required, e.Config = true, []byte(" {}") // shown only, and what no config means
		e.Config = nil
		w.must(e)
		if w.starts() != 1 || !w.state().Required {
			t.Errorf("%d starts, want 1; required %t, want true", w.starts(), w.state().Required)
		}
	})
}

// TestWhatIsRefused lists plugins that don't get into service at the first start, and
// whether they are tried again.
func TestWhatIsRefused(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	cases := map[string]struct {
		kind plugin.Kind
		spec func(*Spec)
		make func(*fakeProcess)
		want error
		text string
		once bool // not tried again
	}{
		"no binary":      {spec: func(s *Spec) { s.Path = "/gone" }, text: "launch: /gone: no such file"},
		"no digest":      {spec: func(s *Spec) { s.SHA256 = nil }, want: ErrRefused, text: "no sha256 for " + Platform(), once: true},
		"other platform": {spec: func(s *Spec) { s.SHA256 = map[string]string{"plan9/mips": digest} }, want: ErrRefused, once: true},
		"other kind":     {make: func(p *fakeProcess) { p.kind = plugin.Retention }, want: ErrRefused, text: `has no partitioner "p" but retention/p`, once: true},
		"other name":     {make: func(p *fakeProcess) { p.name = "q" }, want: ErrRefused, once: true},
		"other version":  {spec: func(s *Spec) { s.Version = "2.0.0" }, want: ErrRefused, text: `it says version "1.0.0", the entry "2.0.0"`, once: true},
		"config refused": {make: func(p *fakeProcess) { p.validate = func(json.RawMessage) error { return errors.New("no such key: x") } }, want: ErrRefused, text: "validate", once: true},
		"configure hangs": {make: func(p *fakeProcess) {
			p.configure = func(ctx context.Context, _ plugin.Config) error { return hang(ctx) }
		}, want: ErrTimeout, text: "configure: no answer within 10s"},
		"backend away": {make: func(p *fakeProcess) {
			p.configure = func(context.Context, plugin.Config) error { return plugin.ErrUnavailable }
		}, want: ErrUnavailable},
		"describe hangs":   {make: func(p *fakeProcess) { p.hung.Store(true) }, want: ErrTimeout, text: "describe: no answer within 2s"},
		"exits at start":   {make: func(p *fakeProcess) { p.kill(nil) }, want: plugin.ErrGone, text: "the process ended"},
		"canary fails":     {make: func(p *fakeProcess) { p.assign = func(r *partitioner.Request, out []int32) { out[0] = r.Partitions } }, want: ErrCanary, text: "partition 4093 of 4093"},
		"canary too short": {make: func(p *fakeProcess) { p.assign = func(_ *partitioner.Request, out []int32) { out[0] = 0 } }, want: ErrBadAnswer, text: "key 1 of 64 has no partition"},
		"canary hangs":     {make: func(p *fakeProcess) { p.fault(hang) }, want: ErrTimeout, text: "canary: no answer within 2s"},
		"canary hangs for long": {spec: func(s *Spec) { s.Timeout = Duration(7 * time.Second) }, make: func(p *fakeProcess) { p.fault(hang) },
			want: ErrTimeout, text: "canary: no answer within 7s"},
		"lets all in": {kind: plugin.Authenticator, make: func(p *fakeProcess) {
			p.features = []string{auth.FeaturePassword}
			p.verify = func(p *auth.Peer, u string) (auth.Result, error) {
				return auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: u, Nonce: p.Nonce}, nil
			}
		}, want: ErrCanary, text: "does not exist was accepted"},
		"wrong nonce": {kind: plugin.Authenticator, make: func(p *fakeProcess) {
			p.features = []string{auth.FeaturePassword}
			p.verify = func(*auth.Peer, string) (auth.Result, error) { return auth.Result{Nonce: []byte("old")}, nil }
		}, want: ErrBadAnswer, text: "nonce"},
		"allows what is no operation": {kind: plugin.Authorizer, make: func(p *fakeProcess) {
			p.authorize = func(_ []auth.Action, out []auth.Decision) { out[0].Verdict = auth.Allow }
		}, want: ErrCanary, text: "an operation that does not exist was allowed"},
		"retention of another log": {kind: plugin.Retention, make: func(p *fakeProcess) {
			p.decide = func([]storage.LogFacts) []storage.Verdict { return []storage.Verdict{{Topic: "other"}} }
		}, want: ErrBadAnswer, text: "not asked for"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				kind := plugin.Partitioner
				if c.kind != "" {
					kind = c.kind
				}
				w.binary("/v1", kind, "1.0.0", func(p *fakeProcess) {
					if c.make != nil {
						c.make(p)
					}
				})
				e := spec(kind, "/v1")
				if c.spec != nil {
					c.spec(&e)
				}
				err := w.apply(e)
				if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
					t.Fatalf("%v\nwant %v with %q", err, c.want, c.text)
				}
				if s := w.state(); s.Reason == "" || c.once != (s.State == Failed) || !c.once != (s.State == Restarting) {
					t.Errorf("state %s (%s); given up on at once: want %t", s.State, s.Reason, c.once)
				}
				if err := w.ask(t.Context(), kind); !errors.Is(err, ErrUnavailable) {
					t.Errorf("a call ends with %v, want ErrUnavailable", err)
				}
				time.Sleep(3 * time.Minute)
				if s := w.state(); s.State != Failed {
					t.Errorf("three minutes later it is %s, want failed", s.State)
				}
				// An operator's restart after the cause is gone.
				w.binary("/v1", kind, "1.0.0")
				w.binary("/gone", kind, "1.0.0")
				if !c.once {
					if err := w.Restart(t.Context(), "p"); err != nil {
						t.Errorf("restart after the cause is gone: %v", err)
					}
				}
			})
		})
	}
}

// TestProcessesAreBounded looks at what a process is started with.
func TestProcessesAreBounded(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Partitioner, "1.0.0")
		e := spec(plugin.Partitioner, "/v1")
		e.MemoryMax = 100 << 20
		w.must(e)
		c := w.process(0).command
		if c.NoFile != filesMax || c.MemoryMax != 2*e.MemoryMax+mappedMax || !slices.Contains(c.Env, "GOMEMLIMIT=83886080") {
			t.Errorf("%d files, %d bytes, %v", c.NoFile, c.MemoryMax, c.Env)
		}
	})
}

func TestUnverifiedBinariesRunOnlyIfAllowed(t *testing.T) {
	inWorld(t, Options{AllowUnverified: true}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Partitioner, "1.0.0")
		e := spec(plugin.Partitioner, "/v1")
		e.SHA256 = nil
		w.must(e)
		if w.process(0).command.Digest != [32]byte{} {
			t.Error("a digest came from nowhere")
		}
	})
}

// TestOneBadEntryLeavesOthers holds that entries don't matter to each other, and
// that a wrong entry leaves what serves under its name.
func TestOneBadEntryLeavesOthers(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Partitioner, "1.0.0")
		good, bad := spec(plugin.Partitioner, "/v1"), spec(plugin.Authorizer, "/nowhere")
		bad.Name = "bad"
		results := w.Apply(t.Context(), []Spec{bad, good})
		if results[0].Err == nil || results[1].Err != nil {
			t.Errorf("results %v, want an error of the first only", results)
		}
		wrong := good
		wrong.Timeout = -1
		results = w.Apply(t.Context(), []Spec{wrong, good, {Name: "No!", Kind: "x"}})
		if !errors.Is(results[0].Err, ErrSpec) || results[1].Err == nil || !errors.Is(results[2].Err, ErrSpec) {
			t.Errorf("results %v, want three errors: wrong, twice, wrong", results)
		}
		if err := w.ask(t.Context(), plugin.Partitioner); err != nil {
			t.Errorf("beside a wrong entry: %v", err)
		}
	})
}

// TestNameOfAnotherKind holds that an entry may become one of another kind, and that
// handles of the old kind say so.
func TestNameOfAnotherKind(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Partitioner, "1.0.0")
		w.binary("/v2", plugin.Retention, "1.0.0")
		w.must(spec(plugin.Partitioner, "/v1"))
		w.must(spec(plugin.Retention, "/v2"))
		if err := w.ask(t.Context(), plugin.Partitioner); !errors.Is(err, ErrNotFound) {
			t.Errorf("the old kind: %v, want ErrNotFound", err)
		}
		if err := w.ask(t.Context(), plugin.Retention); err != nil {
			t.Error(err)
		}
		if _, ok := w.Partitioner("p"); ok {
			t.Error("the catalogue has a partitioner that it no longer has")
		}
	})
}

func TestClosedHostTakesNothing(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.apply(spec(plugin.Partitioner, "/v1")); !errors.Is(err, ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
	})
}

// TestCloseDoesNotWaitForEver holds that Close takes no longer than its context lets
// it, whatever plugins do, and leaves no process.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Retention
		w.binary("/v1", kind, "1.0.0")
		w.must(spec(kind, "/v1"))
		p := w.process(0)
		p.fault(func(context.Context) error { <-p.done; return plugin.ErrGone }) // ignores its deadline
		answer := make(chan error, 1)
		go func() { answer <- w.ask(context.Background(), kind) }()
		synctest.Wait()
		begin := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := w.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 2*time.Second {
			t.Errorf("%v after %v, want the context's end after a second", err, time.Since(begin))
		}
		if !p.ended() {
			t.Error("the process lives")
		}
		<-answer
	})
}
