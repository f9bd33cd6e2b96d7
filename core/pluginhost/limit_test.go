package pluginhost

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestConcurrencyAndQueue holds both bounds: beyond them a call ends at once.
func TestConcurrencyAndQueue(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authenticator
		w.binary("/v1", kind, "1.0.0")
		e := spec(kind, "/v1")
		e.Concurrency, e.Queue = 3, 2
		w.must(e)
		p := w.process(0)
		release := make(chan struct{})
		p.fault(func(context.Context) error { <-release; return nil })
		errs := make(chan error, 10)
		for range 5 {
			go func() { errs <- w.ask(context.Background(), kind) }()
		}
		if s := w.state(); s.InFlight != 3 || s.Queued != 2 || p.running.Load() != 3 {
			t.Errorf("%d in flight, %d queued, %d in the plugin, want 3, 2, 3", s.InFlight, s.Queued, p.running.Load())
		}
		begin := time.Now()
		if err := w.ask(t.Context(), kind); !errors.Is(err, ErrUnavailable) || time.Since(begin) != 0 {
			t.Errorf("one too many: %v after %v, want ErrUnavailable at once", err, time.Since(begin))
		}
		if n := w.errors(causeBusy); n != 1 {
			t.Errorf("%d calls found the queue full, want 1", n)
		}
		close(release)
		for range 5 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if s := w.state(); s.Queued != 0 || s.InFlight != 0 {
			t.Errorf("%d in flight, %d queued at the end", s.InFlight, s.Queued)
		}
	})
}

// TestQueueIsWithinTheDeadline holds that waiting for a place counts.
func TestQueueIsWithinTheDeadline(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authenticator
		w.binary("/v1", kind, "1.0.0")
		e := spec(kind, "/v1")
		e.Concurrency, e.Timeout = 1, Duration(time.Second)
		w.must(e)
		w.process(0).hung.Store(true)
		errs := make(chan error, 2)
		begin := time.Now()
		for range 2 {
			go func() { errs <- w.ask(context.Background(), kind) }()
		}
		for range 2 {
			if err := <-errs; !errors.Is(err, ErrTimeout) {
				t.Errorf("%v, want ErrTimeout", err)
			}
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("both took %v, want a second", took)
		}
	})
}

// TestCallersEndIsNoFault holds that a caller that goes away is not the plugin's.
func TestCallersEndIsNoFault(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Retention
		w.binary("/v1", kind, "1.0.0")
		w.must(spec(kind, "/v1"))
		w.process(0).hung.Store(true)
		for range 2 * breakerFailures {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if err := w.ask(ctx, kind); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrTimeout) {
				t.Errorf("%v, want the caller's own deadline", err)
			}
			cancel()
		}
		w.process(0).hung.Store(false)
		if s := w.state(); s.Breaker != "closed" || len(s.Errors) > 0 {
			t.Errorf("status %+v, want no error", s)
		}
	})
}

// TestBreaker follows it: open after five failures, calls end at once, probes double
// their distance, and the first good one closes it.
func TestBreaker(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		w.binary("/v1", kind, "1.0.0")
		w.must(spec(kind, "/v1"))
		p := w.process(0)
		p.fault(func(context.Context) error { return plugin.ErrBadAnswer })
		for range breakerFailures {
			if err := w.ask(t.Context(), kind); !errors.Is(err, ErrBadAnswer) {
				t.Errorf("%v, want ErrBadAnswer", err)
			}
		}
		n := p.calls.Load()
		if err := w.ask(t.Context(), kind); !errors.Is(err, ErrUnavailable) || p.calls.Load() != n {
			t.Errorf("open: %v and %d calls of the plugin, want ErrUnavailable and none", err, p.calls.Load()-n)
		}
		if s := w.state(); s.Breaker != "open" || s.Errors["breaker"] != 1 {
			t.Errorf("status %+v", s)
		}
		time.Sleep(breakerCoolMin + tickEvery)
		synctest.Wait()
		if p.calls.Load() != n+1 {
			t.Errorf("%d probes, want 1", p.calls.Load()-n)
		}
		p.fault(nil)
		time.Sleep(2*breakerCoolMin + tickEvery)
		if err := w.ask(t.Context(), kind); err != nil || w.state().Breaker != "closed" {
			t.Errorf("after a good probe: %v", err)
		}
		if w.starts() != 1 {
			t.Errorf("%d starts, want 1", w.starts())
		}
	})
}

// TestBreakerCountsFailuresInARow holds that an answer between failures starts the
// count anew.
func TestBreakerCountsFailuresInARow(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		w.binary("/v1", kind, "1.0.0")
		w.must(spec(kind, "/v1"))
		for range 4 {
			w.process(0).fault(func(context.Context) error { return plugin.ErrBadAnswer })
			for range breakerFailures - 1 {
				_ = w.ask(t.Context(), kind)
			}
			w.process(0).fault(nil)
			if err := w.ask(t.Context(), kind); err != nil {
				t.Errorf("%v: the breaker opened too early", err)
			}
		}
	})
}

// TestProbesHoldToTheSample holds that a partitioner that sends keys elsewhere than
// when it started stays cut off, whatever its entry allows to upgrades.
func TestProbesHoldToTheSample(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		var moved atomic.Bool
		w.binary("/v1", plugin.Partitioner, "1.0.0", func(p *fakeProcess) {
			p.features = []string{partitioner.FeatureDeterministic}
			p.assign = func(r *partitioner.Request, out []int32) {
				for i, key := range r.Keys {
					if out[i] = int32(len(key)) % r.Partitions; moved.Load() {
						out[i] = (out[i] + 1) % r.Partitions
					}
				}
			}
		})
		e := spec(plugin.Partitioner, "/v1")
		e.AllowRemap = true
		w.must(e)
		moved.Store(true)
		w.process(0).fault(func(context.Context) error { return plugin.ErrBadAnswer })
		for range breakerFailures {
			_ = w.ask(t.Context(), plugin.Partitioner)
		}
		w.process(0).fault(nil)
		time.Sleep(breakerCoolMin + tickEvery)
		if s := w.state(); s.Breaker != "open" || !strings.Contains(s.Reason, "other partitions") {
			t.Errorf("status %+v, want an open breaker and why", s)
		}
	})
}

// TestOwnErrorsDoNotBreak holds that a plugin that answers with errors is not cut
// off: it answers.
func TestOwnErrorsDoNotBreak(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authenticator
		w.binary("/v1", kind, "1.0.0")
		w.must(spec(kind, "/v1"))
		w.process(0).fault(func(context.Context) error { return errors.New("user database is locked") })
		for range 3 * breakerFailures {
			if err := w.ask(t.Context(), kind); !errors.Is(err, ErrFailed) {
				t.Errorf("%v, want ErrFailed", err)
			}
		}
		if s := w.state(); s.Breaker != "closed" || s.Errors["failed"] != 3*breakerFailures {
			t.Errorf("status %+v", s)
		}
	})
}

func TestBackoff(t *testing.T) {
	for attempt, want := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, backoffMax, backoffMax} {
		if low, high := backoff(attempt, 0), backoff(attempt, 0.999); low != want || high < low || high > min(want*5/4, backoffMax) {
			t.Errorf("attempt %d waits %v to %v, want from %v to a quarter more, at most %v", attempt, low, high, want, backoffMax)
		}
	}
	if backoff(1000, 1) != backoffMax {
		t.Error("attempts without end overflow")
	}
}
