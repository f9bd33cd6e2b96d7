package api

import (
	"github.com/mortisemq/mortise/core/internal/purgatory"
)

// parkedFetch is a fetch that waits. It is not pooled: the connection may hold
// its Cancel for longer than the request lives.
type parkedFetch struct {
	waiter  purgatory.Waiter
	call    *fetchCall
	entries []purgatory.Entry
}

// park makes the call wait for more bytes, until its deadline.
func (c *fetchCall) park() {
	if c.parked == nil {
		c.parked = &parkedFetch{call: c, entries: make([]purgatory.Entry, len(c.parts))}
		c.r.OnCancel(c.parked.waiter.Cancel)
	}
	for {
		pf := c.parked
		c.release()
		for i := range c.parts {
			p := &c.parts[i]
			pf.entries[i] = purgatory.Entry{List: p.partition.Waiters(), Seen: p.seen}
		}
		need := int64(c.req.MinBytes) - c.bytes
		switch c.a.deps.Purgatory.Park(&pf.waiter, pf.entries, need, c.deadline.Sub(c.a.deps.Clock.Now()), pf) {
		case purgatory.Parked:
			return // c belongs to whoever finishes the waiter
		case purgatory.Gone, purgatory.Full:
			c.read()
			c.reply()
			return
		case purgatory.Ready:
			if c.read(); c.ready() {
				c.reply()
				return
			}
		}
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
	c.forgetPartitions()
	c.read()
	if why != purgatory.Progress || c.ready() {
		c.reply()
		return
	}
	c.park()
}

// forgetPartitions has the next read look them up again: one may have been
// deleted while the request waited.
func (c *fetchCall) forgetPartitions() {
	for i := range c.parts {
		c.parts[i].partition = nil
	}
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
