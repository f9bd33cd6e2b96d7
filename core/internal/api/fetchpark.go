package api

import (
	"sync/atomic"

	"github.com/mortisemq/mortise/core/internal/purgatory"
)

// parkedFetch is a fetch that waits. It is not pooled: the connection may hold
// its Cancel for longer than the request lives.
type parkedFetch struct {
	waiter  purgatory.Waiter
	call    *fetchCall
	entries []purgatory.Entry
	hurried atomic.Bool // the next request of the session is there
}

// hurried reports whether the client has sent the next request of its session already.
func (c *fetchCall) hurried() bool { return c.parked != nil && c.parked.hurried.Load() }

// hurry has the fetch of a session that waits answered with what there is. A follower
// sends a second one when it has something to add.
func (s *fetchSession) hurry() {
	s.mu.Lock()
	pf := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	if pf != nil {
		pf.hurried.Store(true)
		pf.waiter.Hurry()
	}
}

// waits notes which fetch of a session waits, so that the next one can hurry it.
func (s *fetchSession) waits(pf *parkedFetch) {
	s.mu.Lock()
	s.waiting = pf
	s.mu.Unlock()
}

// park makes the call wait for more bytes, until its deadline.
func (c *fetchCall) park() {
	if c.parked == nil {
		c.parked = &parkedFetch{call: c}
		c.r.OnCancel(c.parked.waiter.Cancel)
		if c.session != nil {
			c.session.waits(c.parked)
		}
	}
	for {
		pf := c.parked
		c.release()
		c.lists()
		need := int64(c.req.MinBytes) - c.bytes
		switch c.a.deps.Purgatory.Park(&pf.waiter, pf.entries, need, c.deadline.Sub(c.a.deps.Clock.Now()), pf) {
		case purgatory.Parked:
			return // c belongs to whoever finishes the waiter
		case purgatory.Gone, purgatory.Full:
			c.read(true)
			c.reply()
			return
		case purgatory.Ready:
			if c.read(true); c.ready() {
				c.reply()
				return
			}
		}
	}
}

// lists says what the call waits for: a follower of a session for whatever moves, anybody
// else for each of its partitions.
func (c *fetchCall) lists() {
	pf := c.parked
	if c.standing() {
		pf.entries = append(pf.entries[:0], purgatory.Entry{List: &c.session.standing.ends, Seen: c.seen})
		return
	}
	if pf.entries == nil {
		pf.entries = make([]purgatory.Entry, len(c.parts))
	}
	for i := range c.parts {
		p := &c.parts[i]
		pf.entries[i] = purgatory.Entry{List: c.waiters(p), Seen: p.seen}
	}
}

// Complete implements purgatory.Completer.
func (pf *parkedFetch) Complete(_ *purgatory.Waiter, why purgatory.Reason) {
	c := pf.call
	if why == purgatory.Cancelled {
		r := c.r
		c.free()
		r.ReplyNone()
		return
	}
	c.read(true)
	if why != purgatory.Progress || c.ready() {
		c.reply()
		return
	}
	c.park()
}

// release lets go of the records that were read.
func (c *fetchCall) release() {
	for i := range c.parts {
		if r := c.parts[i].found.Range; r != nil {
			r.Release()
			c.parts[i].found.Range = nil
		}
	}
}
