package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// storing makes a process that takes rules and keeps their epochs.
func storing(epochs *[]uint64) func(*fakeProcess) {
	return func(p *fakeProcess) {
		p.features = []string{auth.FeatureStore}
		p.setRules = func(_ context.Context, epoch uint64, _ []auth.Rule) error {
			*epochs = append(*epochs, epoch)
			return nil
		}
	}
}

// TestRulesReachEveryGeneration holds that a plugin decides nothing before it has
// rules, and that every generation has the newest before it serves.
func TestRulesReachEveryGeneration(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		var one, two []uint64
		w.binary("/v1", kind, "1.0.0", storing(&one))
		w.binary("/v2", kind, "2.0.0", storing(&two))
		w.must(spec(kind, "/v1"))
		if err := w.ask(t.Context(), kind); !errors.Is(err, ErrUnavailable) {
			t.Errorf("without rules: %v, want ErrUnavailable", err)
		}
		h, _ := w.Authorizer("p")
		set := func(epoch uint64) {
			t.Helper()
			if err := h.SetRules(t.Context(), epoch, []auth.Rule{{Name: fmt.Sprint(epoch)}}); err != nil {
				t.Error(err)
			}
		}
		set(5)
		set(5)
		set(4) // late
		set(6)
		if err := w.ask(t.Context(), kind); err != nil || !reflect.DeepEqual(one, []uint64{5, 6}) {
			t.Errorf("%v; it was given %v, want 5 and 6", err, one)
		}
		w.must(spec(kind, "/v2"))
		if !reflect.DeepEqual(two, []uint64{6}) {
			t.Errorf("the second generation was given %v, want 6", two)
		}
		set(7) // the standby gets them too
		w.process(1).kill(errKilled)
		if err := w.ask(t.Context(), kind); err != nil || one[len(one)-1] != 7 {
			t.Errorf("after the rollback: %v with rules %v", err, one)
		}
		w.process(0).kill(errKilled)
		synctest.Wait()
		set(8) // nobody serves
		time.Sleep(time.Second)
		if err := w.ask(t.Context(), kind); err != nil || one[len(one)-1] != 8 {
			t.Errorf("after the restart: %v with rules %v", err, one)
		}
	})
}

// TestRulesThatComeInAnUpgradeCount holds that a generation that was given rules before
// the last change of them decides nothing by those when it comes into service.
func TestRulesThatComeInAnUpgradeCount(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		var one, two []uint64
		w.binary("/v1", kind, "1.0.0", storing(&one))
		w.must(spec(kind, "/v1"))
		h, _ := w.Authorizer("p")
		if err := h.SetRules(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		late := errors.New("not asked")
		slow := make(chan struct{})
		w.binary("/v2", kind, "2.0.0", func(p *fakeProcess) {
			storing(&two)(p)
			p.fault(func(context.Context) error { // in its canary
				p.fault(nil)
				late = h.SetRules(t.Context(), 2, nil)
				return nil
			})
			keep := p.setRules
			p.setRules = func(ctx context.Context, epoch uint64, rules []auth.Rule) error {
				if epoch == 2 {
					<-slow
				}
				return keep(ctx, epoch, rules)
			}
		})
		w.must(spec(kind, "/v2"))
		if late != nil || !reflect.DeepEqual(one, []uint64{1, 2}) {
			t.Errorf("the first generation was given %v (%v), want 1 and 2", one, late)
		}
		if err := w.ask(t.Context(), kind); !errors.Is(err, ErrUnavailable) {
			t.Errorf("by the rules before the last: %v, want ErrUnavailable", err)
		}
		close(slow)
		synctest.Wait()
		if err := w.ask(t.Context(), kind); err != nil || !reflect.DeepEqual(two, []uint64{1, 2}) {
			t.Errorf("%v; it was given %v, want 1 and 2", err, two)
		}
	})
}

// TestWaitingForRulesIsNoFault holds that an authorizer that can't answer before it has
// rules gets into service, to be given them.
func TestWaitingForRulesIsNoFault(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		w.binary("/v1", kind, "1.0.0", func(p *fakeProcess) {
			p.features = []string{auth.FeatureStore}
			p.fault(func(context.Context) error { return plugin.ErrUnavailable })
			p.setRules = func(context.Context, uint64, []auth.Rule) error { p.fault(nil); return nil }
		})
		w.must(spec(kind, "/v1"))
		h, _ := w.Authorizer("p")
		if err := errors.Join(h.SetRules(t.Context(), 1, nil), w.ask(t.Context(), kind)); err != nil {
			t.Error(err)
		}
	})
}

// TestStaleRulesDecideNothing holds that who does not take the newest rules is not
// asked until it does.
func TestStaleRulesDecideNothing(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		fails, failing := errors.New("no memory"), atomic.Bool{}
		w.binary("/v1", kind, "1.0.0", func(p *fakeProcess) {
			p.features = []string{auth.FeatureStore}
			p.setRules = func(context.Context, uint64, []auth.Rule) error {
				if failing.Load() {
					return fails
				}
				return nil
			}
		})
		w.must(spec(kind, "/v1"))
		h, _ := w.Authorizer("p")
		if err := h.SetRules(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		failing.Store(true)
		if err := h.SetRules(t.Context(), 2, nil); !errors.Is(err, fails) {
			t.Errorf("%v, want the plugin's error", err)
		}
		if err := w.ask(t.Context(), kind); !errors.Is(err, ErrUnavailable) {
			t.Errorf("by old rules: %v, want ErrUnavailable", err)
		}
		failing.Store(false)
		time.Sleep(2 * tickEvery)
		if err := w.ask(t.Context(), kind); err != nil {
			t.Errorf("after it took them: %v", err)
		}
	})
}

// TestWhoNeverTakesRulesIsStartedAgain holds that a plugin that is of no use is not
// kept, and not forever tried.
func TestWhoNeverTakesRulesIsStartedAgain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		w.binary("/v1", kind, "1.0.0", func(p *fakeProcess) {
			p.features = []string{auth.FeatureStore}
			p.setRules = func(context.Context, uint64, []auth.Rule) error { return errors.New("no memory") }
		})
		w.must(spec(kind, "/v1"))
		h, _ := w.Authorizer("p")
		if h.SetRules(t.Context(), 1, nil) == nil {
			t.Fatal("it took them")
		}
		time.Sleep(pushMisses*tickEvery + tickEvery)
		if w.starts() < 2 || !w.process(0).ended() {
			t.Errorf("%d starts, the first process ended: %t", w.starts(), w.process(0).ended())
		}
		time.Sleep(time.Minute)
		if s := w.state(); s.State != Failed || w.ask(t.Context(), kind) == nil {
			t.Errorf("status %+v, want failed", s)
		}
	})
}

// TestRulesDoNotMatterToOthers holds that an authorizer without FeatureStore says so
// and is asked anyway.
func TestRulesDoNotMatterToOthers(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		w.binary("/v1", kind, "1.0.0")
		w.must(spec(kind, "/v1"))
		h, _ := w.Authorizer("p")
		if err := h.SetRules(t.Context(), 1, nil); !errors.Is(err, plugin.ErrUnsupported) {
			t.Errorf("%v, want ErrUnsupported", err)
		}
		if err := w.ask(t.Context(), kind); err != nil {
			t.Error(err)
		}
		missing, _ := w.Authorizer("nobody")
		if err := missing.SetRules(t.Context(), 1, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
	})
}
