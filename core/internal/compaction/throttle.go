package compaction

import (
	"context"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
)

// waitMin is the shortest wait: smaller debts are left to grow.
const waitMin = 10 * time.Millisecond

// throttle bounds the bytes that all threads read and write together.
type throttle struct {
	clock clock.Clock

	mu   sync.Mutex
	rate float64   // bytes per second; guarded by mu
	free time.Time // when what was admitted so far is paid for; guarded by mu
}

// setRate bounds what comes from now on, log.cleaner.io.max.bytes.per.second.
func (t *throttle) setRate(bytesPerSecond float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rate = bytesPerSecond
}

// wait admits n bytes, and waits until they are paid for or ctx ends.
func (t *throttle) wait(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d := t.debt(n)
	if d < waitMin {
		return nil
	}
	done := make(chan struct{})
	timer := t.clock.AfterFunc(d, func() { close(done) })
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// debt is how long the bytes admitted so far, and n more, still take.
func (t *throttle) debt(n int) time.Duration {
	now := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	cost := float64(n) / t.rate * float64(time.Second)
	if t.free.Before(now) {
		t.free = now
	}
	t.free = t.free.Add(time.Duration(cost))
	return t.free.Sub(now)
}
