package throttle

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
)

// waitMin is the shortest wait: smaller debts are left to grow.
const waitMin = 10 * time.Millisecond

// Rate bounds the bytes that all who share it admit together. It is safe for
// concurrent use.
type Rate struct {
	clock clock.Clock

	mu      sync.Mutex
	rate    float64       // bytes per second; guarded by mu
	free    time.Time     // when what was admitted so far is paid for; guarded by mu
	changed chan struct{} // closed when the rate changes; guarded by mu
}

// New makes a Rate without a bound.
func New(c clock.Clock) *Rate {
	return &Rate{clock: c, rate: math.Inf(1), changed: make(chan struct{})}
}

// Set bounds what comes from now on; 0 admits nothing. Who waits begins anew under
// another rate, and owes nothing for before.
func (r *Rate) Set(bytesPerSecond float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rate == bytesPerSecond {
		return
	}
	r.rate, r.free = bytesPerSecond, time.Time{}
	close(r.changed)
	r.changed = make(chan struct{})
}

// Wait admits n bytes, and waits until they are paid for or ctx ends.
func (r *Rate) Wait(ctx context.Context, n int) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, changed := r.debt(n)
		if d < waitMin {
			return nil
		}
		done := make(chan struct{})
		timer := r.clock.AfterFunc(d, func() { close(done) })
		select {
		case <-done:
			return nil
		case <-changed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// Spend counts n bytes that are not held up: whoever asks for Owed pays for them.
func (r *Rate) Spend(n int) { r.debt(n) }

// Owed is how long what was admitted or spent so far still takes; 0: it is paid for. A
// rate of 0 owes always.
func (r *Rate) Owed() time.Duration {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rate == 0 {
		return waitMax
	}
	return max(r.free.Sub(now), 0)
}

// waitMax is the longest wait; a rate that asks for more is as good as none.
const waitMax = 1000 * time.Hour

// debt is how long the bytes admitted so far, and n more, still take, and the channel
// that is closed when that is no longer so.
func (r *Rate) debt(n int) (time.Duration, <-chan struct{}) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	cost := waitMax
	if seconds := float64(n) / r.rate; seconds < waitMax.Seconds() {
		cost = time.Duration(seconds * float64(time.Second))
	}
	if r.free.Before(now) {
		r.free = now
	}
	r.free = r.free.Add(cost)
	return r.free.Sub(now), r.changed
}
