package replicatest

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/clock"
)

// ticker is a process's clock: it shows the node's time, and runs what has come due
// when the process ticks, in the order of the times.
type ticker struct {
	now    func() time.Time
	timers []*timer // that wait, by time
}

// timer is a call that waits.
type timer struct {
	clock *ticker
	at    time.Time
	call  func()
}

// Now implements clock.Clock.
func (t *ticker) Now() time.Time { return t.now() }

// AfterFunc implements clock.Clock.
func (t *ticker) AfterFunc(d time.Duration, f func()) clock.Timer {
	w := &timer{clock: t, call: f}
	w.start(d)
	return w
}

// start makes the timer wait.
func (w *timer) start(d time.Duration) {
	w.at = w.clock.now().Add(d)
	all := w.clock.timers
	i := len(all)
	for i > 0 && all[i-1].at.After(w.at) {
		i--
	}
	w.clock.timers = slices.Insert(all, i, w)
}

// fire runs what has come due.
func (t *ticker) fire() {
	for now := t.now(); len(t.timers) > 0 && !t.timers[0].at.After(now); {
		w := t.timers[0]
		t.timers = slices.Delete(t.timers, 0, 1)
		w.call()
	}
}

// Stop implements clock.Timer.
func (w *timer) Stop() bool {
	i := slices.Index(w.clock.timers, w)
	if i >= 0 {
		w.clock.timers = slices.Delete(w.clock.timers, i, i+1)
	}
	return i >= 0
}

// Reset implements clock.Timer.
func (w *timer) Reset(d time.Duration) bool {
	waited := w.Stop()
	w.start(d)
	return waited
}

var (
	_ clock.Clock = (*ticker)(nil)
	_ clock.Timer = (*timer)(nil)
)
