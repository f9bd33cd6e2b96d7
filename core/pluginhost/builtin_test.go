package pluginhost

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// builtin is an entry p of a compiled-in plugin.
func builtin(kind plugin.Kind) Spec {
	return Spec{Name: "p", Kind: kind, Builtin: "b", Enabled: true}
}

// TestBuiltinPartitionerIsADirectCall holds its cost: no allocation, no goroutine.
func TestBuiltinPartitionerIsADirectCall(t *testing.T) {
	p := partitioner.Plugin(plugin.Plugin{Name: "b", Version: "1"}, func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
		return partitioner.Func(func(_ string, key []byte, n int32) int32 { return int32(len(key)) % n }), nil
	})
	h := New(Options{Builtins: []plugin.Plugin{p}})
	defer h.Close(context.Background())
	if r := h.Apply(t.Context(), []Spec{builtin(plugin.Partitioner)}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	handle, ok := h.Partitioner("p")
	if !ok {
		t.Fatal("not in the catalogue")
	}
	r := &partitioner.Request{Topic: "t", Partitions: 10, Keys: [][]byte{[]byte("abc"), nil, []byte("abcde")}}
	out := make([]int32, 3)
	before := runtime.NumGoroutine()
	n := testing.AllocsPerRun(1000, func() {
		if err := handle.Assign(t.Context(), r, out); err != nil || out[0] != 3 || out[2] != 5 {
			t.Fatalf("%v, %v", out, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations in a call", n)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines more", after-before)
	}
}

// BenchmarkBuiltinPartitioner is what the supervision of a compiled-in plugin costs.
func BenchmarkBuiltinPartitioner(b *testing.B) {
	p := partitioner.Plugin(plugin.Plugin{Name: "b", Version: "1"}, func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
		return partitioner.Func(func(string, []byte, int32) int32 { return 0 }), nil
	})
	h := New(Options{Builtins: []plugin.Plugin{p}})
	defer h.Close(context.Background())
	h.Apply(b.Context(), []Spec{builtin(plugin.Partitioner)})
	handle, _ := h.Partitioner("p")
	r, out := &partitioner.Request{Topic: "t", Partitions: 10, Keys: make([][]byte, 1)}, make([]int32, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := handle.Assign(context.Background(), r, out); err != nil {
			b.Fatal(err)
		}
	}
}

// resting is a compiled-in plugin of any kind that does what do says.
type resting struct {
	fakeInstance
	do     func()
	closed atomic.Int64
}

func (r *resting) Close() error { r.closed.Add(1); return nil }

func (r *resting) Assign(_ context.Context, q *partitioner.Request, out []int32) error {
	for i := range q.Keys {
		out[i] = int32(len(q.Keys[i])) % q.Partitions
	}
	if q.Topic != canaryName {
		r.do()
	}
	return nil
}

func (r *resting) VerifyPassword(ctx context.Context, p *auth.Peer, user string, pw []byte) (auth.Result, error) {
	r.do()
	return auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: user, Nonce: p.Nonce}, nil
}

func (r *resting) Authorize(_ context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	if c.PrincipalName == canaryName {
		return nil
	}
	r.do()
	for i, a := range actions {
		if a.Operation == auth.OpRead {
			out[i] = auth.Decision{Verdict: auth.Allow, CacheTTL: time.Minute}
		}
	}
	return nil
}

func (r *resting) Decide(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	if logs[0].Topic != canaryName {
		r.do()
	}
	return []storage.Verdict{{Topic: logs[0].Topic, Partition: logs[0].Partition, LeaderEpoch: logs[0].LeaderEpoch}}, nil
}

// compiled makes a built-in b of the kind.
func compiled(kind plugin.Kind, r *resting) Options {
	return Options{Builtins: []plugin.Plugin{{Kind: kind, Name: "b", Version: "1.0.0",
		New: func(context.Context, plugin.Config) (any, error) { return r, nil }, Validate: plugin.NoConfig}}}
}

// TestBuiltinThatIgnoresItsContext holds that nobody waits longer than the deadline,
// that no more calls hang than may run at once, and that it is closed only when the
// last one is out.
func TestBuiltinThatIgnoresItsContext(t *testing.T) {
	for _, kind := range []plugin.Kind{plugin.Authenticator, plugin.Authorizer, plugin.Retention} {
		t.Run(string(kind), func(t *testing.T) {
			release := make(chan struct{})
			var hanging atomic.Int64
			var wait atomic.Bool
			r := &resting{do: func() {
				if wait.Load() {
					hanging.Add(1)
					<-release
				}
			}}
			inWorld(t, compiled(kind, r), func(t *testing.T, w *world) {
				release = make(chan struct{}) // of the bubble
				e := builtin(kind)
				e.Concurrency = 3
				w.must(e)
				if err := w.ask(t.Context(), kind); err != nil {
					t.Fatal(err)
				}
				wait.Store(true)
				for i := range 10 {
					begin := time.Now()
					err := w.ask(t.Context(), kind)
					took := time.Since(begin)
					if i < breakerFailures && (!errors.Is(err, ErrTimeout) || took != deadlines[kind]) {
						t.Errorf("call %d: %v after %v, want ErrTimeout after %v", i, err, took, deadlines[kind])
					}
					if i > breakerFailures && (!errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrTimeout) || took > deadlines[kind]) {
						t.Errorf("call %d with an open breaker: %v after %v", i, err, took)
					}
				}
				if n := hanging.Load(); n != 3 {
					t.Errorf("%d calls hang, want the entry's concurrency: 3", n)
				}
				e.Enabled = false
				w.must(e)
				synctest.Wait()
				if r.closed.Load() != 0 {
					t.Error("it was closed under its calls")
				}
				wait.Store(false)
				close(release)
				time.Sleep(time.Minute)
				if r.closed.Load() != 1 {
					t.Errorf("it was closed %d times, want once", r.closed.Load())
				}
			})
		})
	}
}

// TestBuiltinThatPanics holds that a panic is an error of the call, not the broker's
// end.
func TestBuiltinThatPanics(t *testing.T) {
	for _, kind := range plugin.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			r := &resting{do: func() { panic("at the disco") }}
			inWorld(t, compiled(kind, r), func(t *testing.T, w *world) {
				w.must(builtin(kind))
				err := w.ask(t.Context(), kind)
				if !errors.Is(err, ErrFailed) || !errors.Is(err, plugin.ErrPanicked) || !strings.Contains(err.Error(), "at the disco") {
					t.Errorf("%v, want ErrFailed, ErrPanicked and what it said", err)
				}
				r.do = func() { runtime.Goexit() }
				if kind != plugin.Partitioner { // that would be the caller's own goroutine
					if err := w.ask(t.Context(), kind); !errors.Is(err, plugin.ErrPanicked) {
						t.Errorf("a call that ends its goroutine: %v, want ErrPanicked", err)
					}
				}
				r.do = func() {}
				if err := w.ask(t.Context(), kind); err != nil {
					t.Errorf("after a panic: %v", err)
				}
			})
		})
	}
}

// TestBuiltinsAreChecked holds wrong answers of compiled-in plugins to the same rules.
func TestBuiltinsAreChecked(t *testing.T) {
	p := partitioner.Plugin(plugin.Plugin{Name: "b", Version: "1"}, func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
		return partitioner.Func(func(topic string, _ []byte, n int32) int32 {
			if topic == canaryName {
				return 0
			}
			return n
		}), nil
	})
	inWorld(t, Options{Builtins: []plugin.Plugin{p}}, func(t *testing.T, w *world) {
		w.must(builtin(plugin.Partitioner))
		for range breakerFailures {
			if err := w.ask(t.Context(), plugin.Partitioner); !errors.Is(err, ErrBadAnswer) {
				t.Errorf("%v, want ErrBadAnswer", err)
			}
		}
		if err := w.ask(t.Context(), plugin.Partitioner); !errors.Is(err, ErrUnavailable) || w.state().Breaker != "open" {
			t.Errorf("%v, want ErrUnavailable: its breaker is open", err)
		}
	})
}

// TestBuiltinThatDoesNotStart lists what keeps a compiled-in plugin out of service;
// none of it stops anything else.
func TestBuiltinThatDoesNotStart(t *testing.T) {
	cases := map[string]struct {
		make func(context.Context, plugin.Config) (any, error)
		want error
	}{
		"config":     {func(context.Context, plugin.Config) (any, error) { return nil, errors.New("no such key") }, ErrRefused},
		"panics":     {func(context.Context, plugin.Config) (any, error) { panic("at start") }, plugin.ErrPanicked},
		"hangs":      {func(ctx context.Context, _ plugin.Config) (any, error) { time.Sleep(time.Hour); return nil, ctx.Err() }, ErrTimeout},
		"other kind": {func(context.Context, plugin.Config) (any, error) { return struct{}{}, nil }, nil},
		"nothing":    {func(context.Context, plugin.Config) (any, error) { return nil, nil }, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := plugin.Plugin{Kind: plugin.Retention, Name: "b", Version: "1", New: c.make, Validate: plugin.NoConfig}
			inWorld(t, Options{Builtins: []plugin.Plugin{p}}, func(t *testing.T, w *world) {
				if err := w.apply(builtin(plugin.Retention)); err == nil || c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if err := w.ask(t.Context(), plugin.Retention); !errors.Is(err, ErrUnavailable) {
					t.Errorf("a call: %v, want ErrUnavailable", err)
				}
				time.Sleep(2 * time.Hour) // what hung has ended
			})
		})
	}
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		if err := w.apply(builtin(plugin.Retention)); !errors.Is(err, ErrRefused) {
			t.Errorf("not compiled in: %v, want ErrRefused", err)
		}
	})
}

// TestLateInstanceIsClosed holds that what a slow New makes after it was given up on
// does not stay.
func TestLateInstanceIsClosed(t *testing.T) {
	late := &resting{do: func() {}}
	p := plugin.Plugin{Kind: plugin.Retention, Name: "b", Version: "1", Validate: plugin.NoConfig,
		New: func(context.Context, plugin.Config) (any, error) {
			time.Sleep(configureMax + time.Second)
			return late, nil
		}}
	inWorld(t, Options{Builtins: []plugin.Plugin{p}}, func(t *testing.T, w *world) {
		if err := w.apply(builtin(plugin.Retention)); !errors.Is(err, ErrTimeout) {
			t.Errorf("%v, want ErrTimeout", err)
		}
		w.Apply(t.Context(), nil)
		time.Sleep(time.Minute)
		if late.closed.Load() != 1 {
			t.Errorf("the late instance was closed %d times, want once", late.closed.Load())
		}
	})
}

// TestBuiltinsLog holds that a compiled-in plugin's log is kept like a process's.
func TestBuiltinsLog(t *testing.T) {
	p := plugin.Plugin{Kind: plugin.Retention, Name: "b", Version: "1", Validate: plugin.NoConfig,
		New: func(_ context.Context, c plugin.Config) (any, error) {
			c.Logger().Warn("old\x1b config", "key", "x")
			return &resting{do: func() {}}, nil
		}}
	inWorld(t, Options{Builtins: []plugin.Plugin{p}}, func(t *testing.T, w *world) {
		w.must(builtin(plugin.Retention))
		lines, err := w.Logs("p")
		if err != nil || len(lines) != 1 || !strings.Contains(lines[0].Text, "level=WARN") || strings.Contains(lines[0].Text, "\x1b") {
			t.Errorf("%+v, %v", lines, err)
		}
		if _, err := w.Logs("q"); !errors.Is(err, ErrNotFound) {
			t.Errorf("lines of nobody: %v", err)
		}
	})
}
