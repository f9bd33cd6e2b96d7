package compaction

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/clock"
)

// TestThrottleHoldsTheRate: two threads together must not read faster than allowed.
func TestThrottleHoldsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := &throttle{clock: clock.System{}}
		th.setRate(1 << 20)
		begin := time.Now()
		for range 2 {
			go func() {
				for range 64 {
					if err := th.wait(t.Context(), 64<<10); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		<-time.After(7900 * time.Millisecond) // the bubble's clock
		synctest.Wait()
		if d := th.debt(0); d <= 0 {
			t.Fatalf("8 MiB at 1 MiB/s were done after %v", time.Since(begin))
		}
		<-time.After(200 * time.Millisecond)
		synctest.Wait()
		if d := th.debt(0); d > 0 {
			t.Fatalf("8 MiB at 1 MiB/s are owed %v after %v", d, time.Since(begin))
		}
	})
}

// TestThrottleEndsWithItsContext: a broker that stops must not wait for the rate.
func TestThrottleEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := &throttle{clock: clock.System{}}
		th.setRate(1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- th.wait(ctx, 1<<30) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	})
}
