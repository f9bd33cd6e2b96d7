package server

import (
	"fmt"
	"time"
)

// A frame under way that holds memory is hurried when others wait for it.
const (
	hurryGrace = 5 * time.Second // and its bytes at hurryPace
	hurryPace  = 1 << 20         // bytes per second
	hurryLook  = 5 * time.Second // how often a silent one is looked at
)

// arm keeps the socket's deadline at most FrameTimeout away, and moves it only
// when half of that has passed: it is a reason to look (expired), not a verdict.
func (r *reader) arm() {
	far := r.limits.FrameTimeout
	if r.careful {
		far = min(far, hurryLook)
	}
	if left := r.deadline.Sub(r.now); left < far/2 || left > far {
		r.setDeadline(r.now.Add(far))
	}
	if r.c.draining.Load() {
		r.setDeadline(longAgo)
	}
}

func (r *reader) setDeadline(t time.Time) {
	r.deadline = t
	r.c.nc.SetReadDeadline(t) //nolint:errcheck // the read will tell
}

// late is the error of a frame that trickles in too slowly.
func (r *reader) late() error {
	if r.started.IsZero() {
		return nil
	}
	if due := r.frameDue(); r.now.After(due) {
		return fmt.Errorf("%w: began %v ago, %d bytes arrived", errFrameTimeout, r.now.Sub(r.started), r.arrived)
	}
	return nil
}

// frameDue is when the frame under way must be complete.
func (r *reader) frameDue() time.Time {
	due := r.started.Add(r.limits.FrameTimeout + atPace(r.arrived))
	if r.mem1 != nil && r.c.srv.opt.Budget.Wanted() {
		hurried := r.started.Add(hurryGrace + time.Duration(r.arrived)*time.Second/hurryPace)
		if hurried.Before(due) {
			return hurried
		}
	}
	return due
}

// expired decides what it means that nothing came until the deadline, and sets
// the next one.
func (r *reader) expired() error {
	switch {
	case r.c.draining.Load():
		return errStopped
	case !r.started.IsZero():
		if err := r.late(); err != nil {
			return err
		}
		due := r.frameDue().Add(time.Millisecond)
		if soon := r.now.Add(hurryLook); r.careful && soon.Before(due) {
			due = soon
		}
		r.setDeadline(due)
		return nil
	}
	return r.expiredIdle()
}

// expiredIdle is expired between frames. A connection that waits for an answer is
// not idle.
func (r *reader) expiredIdle() error {
	r.limits = r.c.srv.limits()
	active, waits := r.c.activity()
	if r.last.After(active) {
		active = r.last
	}
	due := active.Add(r.limits.IdleTimeout)
	if !waits && r.limits.IdleTimeout > 0 && !due.After(r.now) {
		return fmt.Errorf("%w: %v", errIdle, r.limits.IdleTimeout)
	}
	next := r.now.Add(r.limits.FrameTimeout)
	if due.After(r.now) && due.Before(next) {
		next = due
	}
	r.setDeadline(next)
	return nil
}
