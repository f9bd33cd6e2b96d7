package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// load asks in a loop from several goroutines until stop, which returns how many
// questions there were; every error fails the test.
func (w *world) load(kind plugin.Kind, callers int) (stop func() int64) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var asked atomic.Int64
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := w.ask(context.Background(), kind); err != nil {
					w.t.Errorf("question %d: %v", asked.Load(), err)
					return
				}
				asked.Add(1)
				time.Sleep(100 * time.Microsecond) // lets the bubble's time pass
			}
		})
	}
	return func() int64 { cancel(); all.Wait(); return asked.Load() }
}

// TestSwapLosesNothing upgrades 100 times back and forth under load.
func TestSwapLosesNothing(t *testing.T) {
	for _, kind := range plugin.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				slow := func(p *fakeProcess) {
					p.fault(func(context.Context) error { time.Sleep(time.Millisecond); return nil })
				}
				w.binary("/v1", kind, "1.0.0", slow)
				w.binary("/v2", kind, "2.0.0", slow)
				v := []Spec{spec(kind, "/v1"), spec(kind, "/v2")}
				w.must(v[0])
				stop := w.load(kind, 8)
				for i := range 100 {
					w.must(v[(i+1)%2])
					time.Sleep(7 * time.Millisecond)
				}
				if n := stop(); n < 1000 {
					t.Errorf("only %d questions", n)
				}
				if s := w.state(); s.Version != "1.0.0" || s.Generation != 101 || s.State != Baking || len(s.Errors) > 0 {
					t.Errorf("after 100 upgrades: %+v", s)
				}
				time.Sleep(time.Minute)
				if s := w.state(); s.State != Serving || s.Previous != "" {
					t.Errorf("after the bake time: %+v", s)
				}
				for i, p := range w.processes {
					if n := p.lost.Load(); n > 0 {
						t.Errorf("process %d was stopped with %d calls in it", i, n)
					}
					if p.drains.Load() != 1 && i < 100 {
						t.Errorf("process %d: its instance was closed %d times, want once", i, p.drains.Load())
					}
				}
				if w.starts() != 101 {
					t.Errorf("%d processes, want one for each generation: 101", w.starts())
				}
			})
		})
	}
}

// TestDrainWaits holds that what an upgrade replaced is stopped only after its calls.
func TestDrainWaits(t *testing.T) {
	inWorld(t, Options{Bake: -1}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Retention, "1.0.0")
		w.binary("/v2", plugin.Retention, "2.0.0")
		w.must(spec(plugin.Retention, "/v1"))
		release := make(chan struct{})
		w.process(0).fault(func(context.Context) error { <-release; return nil })
		answer := make(chan error, 1)
		go func() { answer <- w.ask(context.Background(), plugin.Retention) }()
		synctest.Wait()
		w.must(spec(plugin.Retention, "/v2"))
		time.Sleep(4 * time.Second)
		if w.process(0).ended() {
			t.Error("the first generation was stopped under its call")
		}
		close(release)
		if err := <-answer; err != nil {
			t.Errorf("the call that was in flight over the upgrade: %v", err)
		}
		synctest.Wait()
		if !w.process(0).ended() {
			t.Error("the first generation lives after its last call")
		}
	})
}

// TestDrainIsBounded holds that a call that never ends does not keep a generation.
func TestDrainIsBounded(t *testing.T) {
	inWorld(t, Options{Bake: -1}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Authorizer, "1.0.0")
		w.binary("/v2", plugin.Authorizer, "2.0.0")
		w.must(spec(plugin.Authorizer, "/v1"))
		w.process(0).fault(func(context.Context) error { <-w.process(0).done; return plugin.ErrGone })
		answer := make(chan error, 1)
		go func() { answer <- w.ask(context.Background(), plugin.Authorizer) }()
		synctest.Wait()
		w.must(spec(plugin.Authorizer, "/v2"))
		time.Sleep(100*time.Millisecond + drainExtra + time.Millisecond)
		if !w.process(0).ended() {
			t.Error("a call that ignores its deadline keeps the generation")
		}
		// Its time is over: no second try.
		if err := <-answer; !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrTimeout) {
			t.Errorf("%v, want ErrUnavailable or ErrTimeout", err)
		}
	})
}

// TestCallIsPutAgainOnTheNextGeneration kills what is drained while it has a call.
func TestCallIsPutAgainOnTheNextGeneration(t *testing.T) {
	for _, kind := range plugin.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				w.binary("/v1", kind, "1.0.0")
				w.binary("/v2", kind, "2.0.0")
				w.must(spec(kind, "/v1"))
				old := w.process(0)
				old.fault(func(context.Context) error { <-old.done; return plugin.ErrGone })
				answer := make(chan error, 1)
				go func() { answer <- w.ask(context.Background(), kind) }()
				synctest.Wait()
				w.must(spec(kind, "/v2"))
				old.kill(errKilled)
				if err := <-answer; err != nil {
					t.Errorf("the call was not put again: %v", err)
				}
			})
		})
	}
}

// TestBadUpgradeLeavesWhatServes lists upgrades that don't get into service.
func TestBadUpgradeLeavesWhatServes(t *testing.T) {
	deterministic := func(p *fakeProcess) { p.features = []string{partitioner.FeatureDeterministic} }
	moved := func(p *fakeProcess) {
		p.assign = func(r *partitioner.Request, out []int32) {
			for i, key := range r.Keys {
				out[i] = int32(len(key)+1) % r.Partitions
			}
		}
	}
	cases := map[string]struct {
		spec func(*Spec)
		v2   []func(*fakeProcess)
		text string
	}{
		"digest":            {spec: func(s *Spec) { s.SHA256 = nil }, text: "no sha256"},
		"version":           {spec: func(s *Spec) { s.Version = "2.0.1" }, text: "it says version"},
		"config":            {spec: func(s *Spec) { s.Config = []byte(`[]`) }, text: "config: json"},
		"exits at start":    {v2: []func(*fakeProcess){func(p *fakeProcess) { p.kill(errors.New("exit status 3")) }}, text: "exit status 3"},
		"canary":            {v2: []func(*fakeProcess){func(p *fakeProcess) { p.assign = func(*partitioner.Request, []int32) {} }}, text: "canary"},
		"moves keys":        {v2: []func(*fakeProcess){deterministic, moved}, text: "keys would go to other partitions"},
		"not deterministic": {text: "keys would go to other partitions"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				w.binary("/v1", plugin.Partitioner, "1.0.0", deterministic)
				w.binary("/v2", plugin.Partitioner, "2.0.0", c.v2...)
				w.must(spec(plugin.Partitioner, "/v1"))
				stop := w.load(plugin.Partitioner, 1)
				bad := spec(plugin.Partitioner, "/v2")
				if c.spec != nil {
					c.spec(&bad)
				}
				err := w.apply(bad)
				if err == nil || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v, want %q", err, c.text)
				}
				stop()
				if err := w.ask(t.Context(), plugin.Partitioner); err != nil {
					t.Error(err)
				}
				s := w.state()
				if s.Version != "1.0.0" || s.State != Serving || s.Generation != 1 {
					t.Errorf("status %+v, want the first generation in service", s)
				}
				if !errors.Is(err, ErrSpec) && !strings.Contains(s.Reason, c.text) {
					t.Errorf("status gives the reason %q, want %q in it", s.Reason, c.text)
				}
				// Told again, it is not tried again; the version before clears it.
				again := w.apply(bad)
				if again == nil || w.starts() > 2 {
					t.Errorf("the same entry again: %v after %d starts, want the same error and no start", again, w.starts())
				}
				w.must(spec(plugin.Partitioner, "/v1"))
				if s := w.state(); s.Reason != "" || s.Generation != 1 {
					t.Errorf("back to what serves: %+v", s)
				}
			})
		})
	}
	t.Run("moves keys, allowed", func(t *testing.T) {
		inWorld(t, Options{}, func(t *testing.T, w *world) {
			w.binary("/v1", plugin.Partitioner, "1.0.0", deterministic)
			w.binary("/v2", plugin.Partitioner, "2.0.0", deterministic, moved)
			w.must(spec(plugin.Partitioner, "/v1"))
			e := spec(plugin.Partitioner, "/v2")
			e.AllowRemap = true
			w.must(e)
		})
	})
}

// TestCrashWhileAnUpgradeFails holds that what serves is started again after it
// crashed during an upgrade that went wrong.
func TestCrashWhileAnUpgradeFails(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Authorizer, "1.0.0")
		w.binary("/v2", plugin.Authorizer, "2.0.0", func(p *fakeProcess) { p.hung.Store(true) })
		w.must(spec(plugin.Authorizer, "/v1"))
		go func() { time.Sleep(time.Second); w.process(0).kill(errKilled) }()
		if err := w.apply(spec(plugin.Authorizer, "/v2")); !errors.Is(err, ErrTimeout) {
			t.Errorf("%v, want ErrTimeout", err)
		}
		time.Sleep(time.Second)
		if s := w.state(); s.State != Serving || s.Version != "1.0.0" || s.Restarts != 1 {
			t.Errorf("status %+v, want the first version in service again", s)
		}
	})
}

// TestReplayTellsOfDifferences shows an authorizer's next version what was decided.
func TestReplayTellsOfDifferences(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Authorizer, "1.0.0")
		w.binary("/v2", plugin.Authorizer, "2.0.0", func(p *fakeProcess) {
			p.authorize = func([]auth.Action, []auth.Decision) {}
		})
		w.must(spec(plugin.Authorizer, "/v1"))
		h, _ := w.find("p")
		for range 10 {
			_ = w.ask(t.Context(), plugin.Authorizer)
		}
		if n := len(h.recent.all()); n != 1 {
			t.Errorf("%d decisions of one moment are kept, want 1", n)
		}
		for range recentMax + 10 {
			if err := w.ask(t.Context(), plugin.Authorizer); err != nil {
				t.Fatal(err)
			}
			time.Sleep(recentEvery)
		}
		w.must(spec(plugin.Authorizer, "/v2"))
		if s := w.state(); s.Replayed != recentMax || s.Different != recentMax {
			t.Errorf("%d decisions replayed, %d different, want %d of each", s.Replayed, s.Different, recentMax)
		}
	})
}

// TestBadUpgradeOfACrashedPlugin holds that what waits for its restart is started
// although an upgrade was refused meanwhile, and that a good one has a new budget.
func TestBadUpgradeOfACrashedPlugin(t *testing.T) {
	inWorld(t, Options{Bake: -1}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		w.binary("/v1", kind, "1.0.0")
		w.binary("/v2", kind, "2.0.0")
		w.must(spec(kind, "/v1"))
		for i := range restartsMax + 1 {
			w.process(-1).kill(errKilled)
			synctest.Wait()
			bad := spec(kind, "/v2")
			bad.SHA256 = nil
			if i == 0 { // an operator's deed: the budget begins anew
				if err := w.apply(bad); !errors.Is(err, ErrRefused) {
					t.Errorf("%v, want ErrRefused", err)
				}
			}
			time.Sleep(6 * time.Second)
			if s := w.state(); s.State != Serving || s.Version != "1.0.0" {
				t.Fatalf("status %+v, want the first version again", s)
			}
			w.must(spec(kind, "/v1"))
		}
		w.must(spec(kind, "/v2"))
		w.process(-1).kill(errKilled)
		time.Sleep(time.Second)
		if s := w.state(); s.State != Serving || s.Version != "2.0.0" {
			t.Errorf("status %+v, want the second version again: its budget is its own", s)
		}
	})
}

// TestRefusalAfterACrashIsTriedAgain holds that what served once may be refused for a
// while (a file of its config is being replaced) without being given up on.
func TestRefusalAfterACrashIsTriedAgain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authenticator
		refuses := false
		w.binary("/v1", kind, "1.0.0", func(p *fakeProcess) {
			if refuses {
				p.validate = func(json.RawMessage) error { return errors.New("no such file") }
			}
			refuses = !refuses
		})
		w.must(spec(kind, "/v1"))
		w.process(0).kill(errKilled)
		time.Sleep(2 * time.Second)
		if s := w.state(); s.State != Serving || s.Generation != 3 {
			t.Errorf("status %+v, want the third generation in service", s)
		}
	})
}
