package clock

import (
	"sync"
	"time"
)

// Manual is a clock that only moves when it is told to. Calls that come due run
// inside Advance, on the caller's goroutine: in the order of their times, and of
// those with one time in the order in which they were set, so that a test does the
// same each time.
type Manual struct {
	mu     sync.Mutex
	now    time.Time                 // guarded by mu
	timers map[*manualTimer]struct{} // guarded by mu
	set    uint64                    // timers set so far; guarded by mu
}

// NewManual returns a clock that stands at now.
func NewManual(now time.Time) *Manual {
	return &Manual{now: now, timers: map[*manualTimer]struct{}{}}
}

// Now implements Clock.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// AfterFunc implements Clock.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &manualTimer{clock: m, call: f}
	m.start(t, d)
	return t
}

// start makes a timer wait. Caller holds mu.
func (m *Manual) start(t *manualTimer, d time.Duration) {
	m.set++
	t.at, t.order = m.now.Add(d), m.set
	m.timers[t] = struct{}{}
}

// Advance moves the clock by d and runs what comes due on the way.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	end := m.now.Add(d)
	for {
		t := m.earliest()
		if t == nil || t.at.After(end) {
			break
		}
		delete(m.timers, t)
		if t.at.After(m.now) {
			m.now = t.at
		}
		m.mu.Unlock()
		t.call()
		m.mu.Lock()
	}
	m.now = end
	m.mu.Unlock()
}

// earliest is the timer that comes due first. Caller holds mu.
func (m *Manual) earliest() *manualTimer {
	var first *manualTimer
	for t := range m.timers {
		if first == nil || t.at.Before(first.at) || t.at.Equal(first.at) && t.order < first.order {
			first = t
		}
	}
	return first
}

// manualTimer is one call that waits on a Manual clock.
type manualTimer struct {
	clock *Manual
	at    time.Time // guarded by clock.mu
	order uint64    // guarded by clock.mu
	call  func()
}

// Stop implements Timer.
func (t *manualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, waiting := t.clock.timers[t]
	delete(t.clock.timers, t)
	return waiting
}

// Reset implements Timer.
func (t *manualTimer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, waiting := t.clock.timers[t]
	t.clock.start(t, d)
	return waiting
}

var _ Clock = (*Manual)(nil)
