package quota

import (
	"sync"
	"time"
)

// DefaultBytes is the bound for queued.max.request.bytes = -1, which in Kafka
// means none. A broker without a bound can be filled by requests that wait.
const DefaultBytes = 512 << 20

// Limit is the bound in bytes for a configured value.
func Limit(configured int64) int64 {
	if configured <= 0 {
		return DefaultBytes
	}
	return configured
}

// Budget hands out bytes up to a limit. It is safe for concurrent use.
type Budget struct {
	mu    sync.Mutex
	limit int64     // guarded by mu
	used  int64     // guarded by mu
	queue []*waiter // guarded by mu; first come, first served
}

// waiter is one Acquire that waits. ready is sent to when it was granted.
type waiter struct {
	n     int64
	own   int64 // what the waiter holds already
	ready chan struct{}
}

// NewBudget returns a budget of limit bytes (see Limit).
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// TryAcquire takes n bytes if they are free and nobody waits. Hot: per large
// frame. 0 allocs.
func (b *Budget) TryAcquire(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) == 0 && b.take(n, 0)
}

// take takes n bytes if they fit, or if nobody else holds any. Caller holds mu.
func (b *Budget) take(n, own int64) bool {
	if b.used > own && b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

// Acquire takes n bytes and waits for them. It returns false, and has taken
// nothing, when stop is closed first. What was taken goes back by Release.
func (b *Budget) Acquire(n int64, stop <-chan struct{}) bool { return b.acquire(n, 0, stop, nil) }

// Extend takes n bytes more for somebody who holds own. Who waits while holding
// can wait for others who do the same, so it gives up after within and returns
// false, as when stop is closed.
func (b *Budget) Extend(n, own int64, stop <-chan struct{}, within time.Duration) bool {
	b.mu.Lock()
	if len(b.queue) == 0 && b.take(n, own) {
		b.mu.Unlock()
		return true
	}
	b.mu.Unlock()
	timer := time.NewTimer(within)
	defer timer.Stop()
	return b.acquire(n, own, stop, timer.C)
}

// acquire takes n bytes, at the end of the queue.
func (b *Budget) acquire(n, own int64, stop <-chan struct{}, late <-chan time.Time) bool {
	b.mu.Lock()
	if len(b.queue) == 0 && b.take(n, own) {
		b.mu.Unlock()
		return true
	}
	w := &waiter{n: n, own: own, ready: make(chan struct{})}
	b.queue = append(b.queue, w)
	b.mu.Unlock()
	select {
	case <-w.ready:
		return true
	case <-stop:
	case <-late:
	}
	return b.giveUp(w)
}

// giveUp takes w out of the queue. If it was granted meanwhile the bytes go
// back. It always returns false, Acquire's answer.
func (b *Budget) giveUp(w *waiter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.queue {
		if b.queue[i] == w {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			b.grant() // w may have been in the way of smaller ones
			return false
		}
	}
	b.used -= w.n
	b.grant()
	return false
}

// Release gives n bytes back.
func (b *Budget) Release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.used < 0 {
		panic("BUG: budget released more than it gave")
	}
	b.grant()
}

// grant serves waiters from the front while they fit. Caller holds mu.
func (b *Budget) grant() {
	served := 0
	for served < len(b.queue) && b.take(b.queue[served].n, b.queue[served].own) {
		close(b.queue[served].ready)
		served++
	}
	if served > 0 {
		b.queue = append(b.queue[:0], b.queue[served:]...)
	}
}

// Usage is the bytes held, the limit, and how many wait.
func (b *Budget) Usage() (used, limit int64, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.limit, len(b.queue)
}

// HalfUsed reports whether half of the limit is held.
func (b *Budget) HalfUsed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used >= b.limit/2
}

// Wanted reports whether anybody waits.
func (b *Budget) Wanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0
}
