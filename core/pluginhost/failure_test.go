package pluginhost

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// deadlines are those of the failure table.
var deadlines = map[plugin.Kind]time.Duration{
	plugin.Partitioner:   50 * time.Millisecond,
	plugin.Authenticator: 2 * time.Second,
	plugin.Authorizer:    100 * time.Millisecond,
	plugin.Retention:     5 * time.Second,
}

// TestFailureTable puts each fault of a process before each kind: the call ends
// within its deadline with the error that the kind's failure policy goes by, never
// with an answer, and the plugin serves again once the fault is gone.
func TestFailureTable(t *testing.T) {
	faults := map[string]struct {
		set   func(p *fakeProcess)
		clear func(p *fakeProcess)
		want  error
		slow  bool // ends at the deadline, not before
	}{
		"killed in the call": {set: func(p *fakeProcess) {
			p.fault(func(context.Context) error { p.kill(errKilled); return plugin.ErrGone })
		}, want: ErrUnavailable},
		"stopped (SIGSTOP)": {set: func(p *fakeProcess) { p.hung.Store(true) },
			clear: func(p *fakeProcess) { p.hung.Store(false) }, want: ErrTimeout, slow: true},
		"answers late": {set: func(p *fakeProcess) {
			p.fault(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		}, want: ErrTimeout, slow: true},
		"answers too much": {set: func(p *fakeProcess) {
			p.fault(func(context.Context) error { return plugin.ErrTooLarge })
		}, want: ErrFailed},
		"bad answer": {set: func(p *fakeProcess) {
			p.fault(func(context.Context) error { return plugin.ErrBadAnswer })
		}, want: ErrBadAnswer},
		"an error of its own": {set: func(p *fakeProcess) {
			p.fault(func(context.Context) error { return errors.New("no") })
		}, want: ErrFailed},
		"its backend is away": {set: func(p *fakeProcess) {
			p.fault(func(context.Context) error { return plugin.ErrUnavailable })
		}, want: ErrUnavailable},
	}
	for name, f := range faults {
		for _, kind := range plugin.Kinds() {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				inWorld(t, Options{}, func(t *testing.T, w *world) {
					w.binary("/v1", kind, "1.0.0")
					w.must(spec(kind, "/v1"))
					p := w.process(0)
					f.set(p)
					begin := time.Now()
					err := w.ask(t.Context(), kind)
					if took := time.Since(begin); !errors.Is(err, f.want) || f.slow && took != deadlines[kind] || !f.slow && took != 0 {
						t.Errorf("%v after %v, want %v; at the deadline of %v: %t", err, took, f.want, deadlines[kind], f.slow)
					}
					if f.clear != nil {
						f.clear(p)
					}
					p.fault(nil)
					time.Sleep(time.Second) // a restart's backoff
					if err := w.ask(t.Context(), kind); err != nil {
						t.Errorf("after the fault is gone: %v", err)
					}
				})
			})
		}
	}
}

// TestWrongAnswers lists answers that break a kind's contract. Nothing of them may
// reach the asker.
func TestWrongAnswers(t *testing.T) {
	verdict := func(v storage.Verdict) func(p *fakeProcess) {
		return func(p *fakeProcess) {
			p.decide = func([]storage.LogFacts) []storage.Verdict { return []storage.Verdict{v} }
		}
	}
	accept := func(change func(*auth.Result)) func(p *fakeProcess) {
		return func(p *fakeProcess) {
			p.verify = func(peer *auth.Peer, user string) (auth.Result, error) {
				r := auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: user, Nonce: peer.Nonce}
				change(&r)
				return r, nil
			}
		}
	}
	cases := map[string]struct {
		kind plugin.Kind
		lie  func(p *fakeProcess)
	}{
		"partition out of range": {plugin.Partitioner, func(p *fakeProcess) { p.assign = func(_ *partitioner.Request, out []int32) { out[0], out[1] = 3, 10 } }},
		"partition below zero":   {plugin.Partitioner, func(p *fakeProcess) { p.assign = func(_ *partitioner.Request, out []int32) { out[0], out[1] = 3, -2 } }},
		"any for a key":          {plugin.Partitioner, func(p *fakeProcess) { p.assign = func(_ *partitioner.Request, out []int32) { out[0], out[1] = 3, -1 } }},
		"answers too few":        {plugin.Partitioner, func(p *fakeProcess) { p.assign = func(_ *partitioner.Request, out []int32) { out[0] = 3 } }},
		"nonce of another":       {plugin.Authenticator, accept(func(r *auth.Result) { r.Nonce = []byte("m") })},
		"no nonce":               {plugin.Authenticator, accept(func(r *auth.Result) { r.Nonce = nil })},
		"unknown outcome":        {plugin.Authenticator, accept(func(r *auth.Result) { r.Outcome = 3 })},
		"nobody":                 {plugin.Authenticator, accept(func(r *auth.Result) { r.PrincipalName = "" })},
		"no type":                {plugin.Authenticator, accept(func(r *auth.Result) { r.PrincipalType = "" })},
		"lifetime in the past":   {plugin.Authenticator, accept(func(r *auth.Result) { r.Lifetime = -1 })},
		"unknown verdict": {plugin.Authorizer, func(p *fakeProcess) {
			p.authorize = func(_ []auth.Action, out []auth.Decision) { out[0].Verdict, out[1].Verdict = auth.Allow, 3 }
		}},
		"ttl below zero": {plugin.Authorizer, func(p *fakeProcess) {
			p.authorize = func(_ []auth.Action, out []auth.Decision) { out[0] = auth.Decision{Verdict: auth.Allow, CacheTTL: -1} }
		}},
		"log not asked for": {plugin.Retention, verdict(storage.Verdict{Topic: "t", Partition: 4, LeaderEpoch: 9})},
		"wrong epoch":       {plugin.Retention, verdict(storage.Verdict{Topic: "t", Partition: 3, LeaderEpoch: 8, DeleteOldest: 1})},
		"too many segments": {plugin.Retention, verdict(storage.Verdict{Topic: "t", Partition: 3, LeaderEpoch: 9, DeleteOldest: 3})},
		"minus one segment": {plugin.Retention, verdict(storage.Verdict{Topic: "t", Partition: 3, LeaderEpoch: 9, DeleteOldest: -1})},
		"more verdicts than logs": {plugin.Retention, func(p *fakeProcess) {
			p.decide = func([]storage.LogFacts) []storage.Verdict { return make([]storage.Verdict, 2) }
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				w.binary("/v1", c.kind, "1.0.0")
				w.must(spec(c.kind, "/v1"))
				c.lie(w.process(0))
				if err := w.ask(t.Context(), c.kind); !errors.Is(err, ErrBadAnswer) {
					t.Errorf("%v, want ErrBadAnswer", err)
				}
				if n := w.errors(causeBadAnswer); n != 1 {
					t.Errorf("%d bad answers are counted, want 1", n)
				}
			})
		})
	}
}

// TestCrashLoop holds the budget: five restarts a minute, each after a longer wait,
// then failed; the broker's calls end at once all the while.
func TestCrashLoop(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authenticator
		w.binary("/v1", kind, "1.0.0")
		w.must(spec(kind, "/v1"))
		begin, last := time.Now(), w.process(0)
		var starts []time.Duration
		for range 20 {
			last.kill(errKilled)
			synctest.Wait()
			if err := w.ask(t.Context(), kind); !errors.Is(err, ErrUnavailable) {
				t.Errorf("a call while it is down: %v, want ErrUnavailable", err)
			}
			s := w.state()
			if s.State == Failed {
				break
			}
			if s.State != Restarting || s.RestartAt.IsZero() || !strings.Contains(s.Reason, "signal: killed") {
				t.Errorf("status after a crash: %+v", s)
			}
			if wait := time.Until(s.RestartAt); wait < backoffMin<<len(starts) {
				t.Errorf("restart %d comes after %v, want at least %v", len(starts)+1, wait, backoffMin<<len(starts))
			}
			n := w.starts()
			if err := w.apply(spec(kind, "/v1")); !errors.Is(err, ErrUnavailable) || w.starts() != n {
				t.Errorf("the same entry while it waits: %v, want ErrUnavailable and no start", err)
			}
			time.Sleep(time.Until(s.RestartAt) - time.Millisecond)
			if w.starts() != n {
				t.Error("it was started before its time")
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if w.starts() != n+1 {
				t.Fatalf("%d starts for one crash, want one", w.starts()-n)
			}
			starts = append(starts, time.Since(begin))
			last = w.process(-1)
		}
		if len(starts) != restartsMax {
			t.Errorf("%d restarts (%v), want %d", len(starts), starts, restartsMax)
		}
		if s := w.state(); s.State != Failed || s.Restarts != restartsMax {
			t.Errorf("status at the end: %+v", s)
		}
		if err := w.apply(spec(kind, "/v1")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("the entry again: %v, want the error that gave up", err)
		}
		if err := w.Restart(t.Context(), "p"); err != nil || w.ask(t.Context(), kind) != nil {
			t.Errorf("an operator's restart: %v", err)
		}
	})
}

// TestRareCrashesAreForgiven holds that the budget is of one minute.
func TestRareCrashesAreForgiven(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Retention, "1.0.0")
		w.must(spec(plugin.Retention, "/v1"))
		for range 20 {
			time.Sleep(61 * time.Second)
			w.process(-1).kill(errKilled)
			time.Sleep(320 * time.Millisecond) // the first backoff and its jitter
			if s := w.state(); s.State != Serving {
				t.Fatalf("status %+v", s)
			}
		}
	})
}

// TestManyFailuresOneRespawn kills a process under 100 calls.
func TestManyFailuresOneRespawn(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authenticator
		w.binary("/v1", kind, "1.0.0")
		e := spec(kind, "/v1")
		e.Concurrency = 100
		w.must(e)
		p := w.process(0)
		p.hung.Store(true)
		errs := make(chan error, 100)
		for range 100 {
			go func() { errs <- w.ask(context.Background(), kind) }()
		}
		synctest.Wait()
		p.kill(errKilled)
		for range 100 {
			if err := <-errs; !errors.Is(err, ErrUnavailable) {
				t.Errorf("%v, want ErrUnavailable", err)
			}
		}
		time.Sleep(5 * time.Second)
		if w.starts() != 2 {
			t.Errorf("%d starts, want 2", w.starts())
		}
	})
}

// TestHungProcessIsReplaced holds that a process that answers nothing is found out
// with and without load.
func TestHungProcessIsReplaced(t *testing.T) {
	for asks, limit := range map[bool]time.Duration{true: 12 * time.Second, false: 25 * time.Second} {
		inWorld(t, Options{}, func(t *testing.T, w *world) {
			kind := plugin.Authorizer
			w.binary("/v1", kind, "1.0.0")
			w.must(spec(kind, "/v1"))
			w.process(0).hung.Store(true)
			for begin := time.Now(); time.Since(begin) < limit && w.starts() == 1; time.Sleep(100 * time.Millisecond) {
				if asks {
					_ = w.ask(t.Context(), kind)
				}
			}
			time.Sleep(time.Second)
			if err := w.ask(t.Context(), kind); err != nil || !w.process(0).ended() {
				t.Errorf("with questions %t: %v, the hung process ended: %t", asks, err, w.process(0).ended())
			}
		})
	}
}

// TestMemory holds the limit: over it a process is replaced without a call lost, and
// one that grows at once is given up on.
func TestMemory(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		w.binary("/v1", kind, "1.0.0")
		e := spec(kind, "/v1")
		e.MemoryMax = 64 << 20
		w.must(e)
		w.process(0).fault(func(context.Context) error { time.Sleep(time.Millisecond); return nil })
		stop := w.load(kind, 4)
		for mb := uint64(20); mb <= 65; mb += 5 { // a slow leak
			w.process(0).rss.Store(mb << 20)
			time.Sleep(tickEvery)
			if s := w.state(); s.Generation == 1 && (s.Memory != mb<<20 || s.MemoryFirst != 20<<20 || s.MemoryPeak != mb<<20) {
				t.Errorf("at %d MiB the status is %+v", mb, s)
			}
		}
		time.Sleep(tickEvery)
		s := w.state()
		if s.Generation != 2 || s.State != Serving || s.Restarts != 1 || len(s.Errors) > 0 {
			t.Errorf("over the limit: %+v, want a second generation and no call lost", s)
		}
		stop()
		w.binary("/v1", kind, "1.0.0", func(p *fakeProcess) { p.rss.Store(70 << 20) })
		w.process(1).rss.Store(70 << 20)
		time.Sleep(time.Minute)
		if s := w.state(); s.State != Failed || !strings.Contains(s.Reason, "bytes of memory") {
			t.Errorf("status %+v, want failed because of memory", s)
		}
	})
}
