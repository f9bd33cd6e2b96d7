package pluginhost

import (
	"sync"
	"sync/atomic"
	"time"
)

// The breaker's rules.
const (
	breakerFailures = 5                // in a row open it
	breakerCoolMin  = time.Second      // until the first probe
	breakerCoolMax  = 30 * time.Second // between probes
	// breakerProbes is how many probes in a row may fail before a process is taken
	// for hung.
	breakerProbes = 3
)

// breaker keeps calls from a generation that does not answer. Callers only look and
// count; the supervisor probes (half open), and closes it. It is safe for concurrent
// use.
type breaker struct {
	failures atomic.Int32 // in a row
	open     atomic.Bool

	mu     sync.Mutex
	probes int       // that failed since it opened; guarded by mu
	next   time.Time // of the next probe; guarded by mu
}

// allows says whether a call may go through. Hot: one atomic load.
func (b *breaker) allows() bool { return !b.open.Load() }

// success forgets failures. Hot: one atomic load when there were none.
func (b *breaker) success() {
	if b.failures.Load() != 0 {
		b.failures.Store(0)
	}
}

// failure counts one, and reports whether it opened the breaker.
func (b *breaker) failure(now time.Time) bool {
	if b.failures.Add(1) < breakerFailures || !b.open.CompareAndSwap(false, true) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probes, b.next = 0, now.Add(breakerCoolMin)
	return true
}

// due says whether it is time for a probe.
func (b *breaker) due(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open.Load() && !now.Before(b.next)
}

// probed takes a probe's outcome and reports how many failed in a row.
func (b *breaker) probed(ok bool, now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok {
		b.probes = 0
		b.failures.Store(0)
		b.open.Store(false)
		return 0
	}
	b.probes++
	b.next = now.Add(min(breakerCoolMin<<min(b.probes, 10), breakerCoolMax))
	return b.probes
}
