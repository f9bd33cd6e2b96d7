package throttle

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
		r := New(clock.System{})
		r.Set(1 << 20)
		begin := time.Now()
		for range 2 {
			go func() {
				for range 64 {
					if err := r.Wait(t.Context(), 64<<10); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		<-time.After(7900 * time.Millisecond) // the bubble's clock
		synctest.Wait()
		if d, _ := r.debt(0); d <= 0 {
			t.Fatalf("8 MiB at 1 MiB/s were done after %v", time.Since(begin))
		}
		<-time.After(200 * time.Millisecond)
		synctest.Wait()
		if d, _ := r.debt(0); d > 0 {
			t.Fatalf("8 MiB at 1 MiB/s are owed %v after %v", d, time.Since(begin))
		}
	})
}

// TestThrottleEndsWithItsContext: a broker that stops must not wait for the rate.
func TestThrottleEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(clock.System{})
		r.Set(1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Wait(ctx, 1<<30) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	})
}

// TestNewRateCountsAtOnce: who waits for years under one rate goes on under another.
func TestNewRateCountsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(clock.System{})
		r.Set(0)
		begin := time.Now()
		done := make(chan error, 1)
		go func() { done <- r.Wait(t.Context(), 1000) }()
		synctest.Wait()
		r.Set(1000)
		if err := <-done; err != nil || time.Since(begin) != time.Second {
			t.Fatalf("1000 bytes at 1000 a second: %v after %v", err, time.Since(begin))
		}
	})
}
