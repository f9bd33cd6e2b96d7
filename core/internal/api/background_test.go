package api

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/mortisemq/mortise/core/metrics"
)

// TestBackgroundKeepsOrder: one connection's work runs one after the other, others'
// beside it.
func TestBackgroundKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackground(new(metrics.Gauge))
		gate := make(chan struct{})
		var got []int
		b.submit(1, func(context.Context) { <-gate; got = append(got, 0) })
		for n := 1; n < 100; n++ {
			b.submit(1, func(context.Context) { got = append(got, n) })
		}
		other := make(chan struct{})
		b.submit(2, func(context.Context) { close(other) })
		<-other // would hang if the first connection held it up
		if len(got) != 0 {
			t.Errorf("%d ran before the first was done", len(got))
		}
		close(gate)
		synctest.Wait()
		if !slices.IsSorted(got) || len(got) != 100 {
			t.Errorf("got %v", got)
		}
		b.close()
	})
}

// TestBackgroundIsBounded: neither goroutines nor waiting work grow without end.
func TestBackgroundIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackground(new(metrics.Gauge))
		gate := make(chan struct{})
		taken := 0
		for conn := uint64(0); conn < 2*backgroundQueued; conn++ {
			if b.submit(conn, func(context.Context) { <-gate }) {
				taken++
			}
		}
		if taken != backgroundQueued {
			t.Errorf("%d pieces of work were taken, want %d", taken, backgroundQueued)
		}
		synctest.Wait()
		b.mu.Lock()
		workers := b.workers
		b.mu.Unlock()
		if workers != backgroundWorkers {
			t.Errorf("%d workers, want %d", workers, backgroundWorkers)
		}
		close(gate)
		synctest.Wait()
		if !b.submit(1, func(context.Context) {}) {
			t.Error("refused although nothing waits any more")
		}
		b.close()
	})
}

// TestBackgroundCloses: what waits runs with an ended context, so that it answers,
// and close waits for it.
func TestBackgroundCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackground(new(metrics.Gauge))
		ended := 0
		for range 10 {
			b.submit(1, func(ctx context.Context) {
				<-ctx.Done()
				ended++
			})
		}
		b.close()
		if ended != 10 {
			t.Errorf("%d of 10 ended before close returned", ended)
		}
		if b.submit(1, func(context.Context) {}) {
			t.Error("work was taken after close")
		}
	})
}
