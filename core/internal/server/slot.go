package server

import (
	"time"

	"github.com/mortisemq/mortise/core/wire"
)

// slot is a request's place in its connection's queue, and the Sink of its
// answer.
type slot struct {
	req  wire.Request
	conn *conn
	mem  *memory // that req points into; nil after ReleaseBody. The handler's side only.

	serial bool  // the connection's next request waits for the answer
	weight int64 // taken of Server.decoding

	// guarded by conn.mu
	next   *slot
	resp   *wire.Response // nil with done: no answer
	drop   error          // close the connection instead of answering
	cancel func()
	done   bool // answered
	orphan bool // the connection died before the answer
}

// free gives the slot and its response back. Nobody may hold it any more.
func (s *slot) free() {
	if s.resp != nil {
		s.resp.Release()
	}
	srv := s.conn.srv
	srv.m.inFlight.Add(-1)
	s.conn, s.next, s.resp, s.drop, s.cancel = nil, nil, nil, nil, nil
	s.done, s.orphan, s.serial = false, false, false
	srv.slots.Put(s)
}

// Answer implements wire.Sink. Hot: per request. 0 allocs, no syscall.
func (s *slot) Answer(resp *wire.Response) { s.finish(resp, nil) }

// Abort implements wire.Sink.
func (s *slot) Abort(err error) {
	if err == nil {
		err = wire.ErrMalformed
	}
	s.finish(nil, err)
}

// finish marks the slot as answered and sees to it that somebody writes.
func (s *slot) finish(resp *wire.Response, drop error) {
	s.ReleaseBody()
	s.unweigh()
	c := s.conn
	if drop == nil {
		c.srv.m.answered(s.req.Key, time.Since(s.req.Received))
	}
	c.mu.Lock()
	if s.serial {
		c.serial--
		c.changed.Broadcast()
	}
	s.resp, s.drop, s.done, s.cancel = resp, drop, true, nil
	if s.orphan {
		c.mu.Unlock()
		s.free()
		return
	}
	if resp != nil {
		c.outBytes += resp.Len() - resp.BodyLen()
		c.countUnread(c.outBytes)
	}
	write := c.head == s && !c.writing && !c.inBatch
	if write {
		c.writing = true
		c.srv.running.Add(1)
	}
	c.mu.Unlock()
	if write {
		go c.writeLate()
	}
}

// OnCancel implements wire.Sink.
func (s *slot) OnCancel(f func()) {
	s.conn.mu.Lock()
	dead := s.orphan
	if !dead {
		s.cancel = f
	}
	s.conn.mu.Unlock()
	if dead {
		f()
	}
}

// ReleaseBody implements wire.Sink.
func (s *slot) ReleaseBody() {
	if s.mem != nil {
		s.mem.release()
		s.mem = nil
	}
}

var _ wire.Sink = (*slot)(nil)
