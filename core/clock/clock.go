package clock

import "time"

// Clock tells the time and calls back later. It is safe for concurrent use.
type Clock interface {
	// Now is the wall clock with Go's monotonic reading.
	Now() time.Time
	// AfterFunc calls f on a goroutine of its own once d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call that waits for its time.
type Timer interface {
	// Stop prevents the call and reports whether it did: false means that the
	// call has started or was stopped before.
	Stop() bool
	// Reset makes the call happen d from now, and reports what Stop would have.
	Reset(d time.Duration) bool
}

// System is the clock of the operating system.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now() }

// AfterFunc implements Clock.
func (System) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// Millis is a time as Kafka writes it: milliseconds since 1970 in UTC.
func Millis(t time.Time) int64 { return t.UnixMilli() }

var _ Clock = System{}
