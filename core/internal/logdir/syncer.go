package logdir

import (
	"errors"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
)

// defaultSyncs is how many fdatasyncs of one directory run at once.
const defaultSyncs = 4

// Target is a log that can be flushed.
type Target interface {
	// Sync flushes what was appended before the call and returns the end of it.
	// ErrClosed means that the log is gone; every other error is the disk's.
	Sync() (kafka.Offset, error)
}

// Waiter is told when its append is on the disk, or why it never will be. The
// call comes from a worker of the Syncer and must not block.
type Waiter interface {
	Synced(err error)
}

// Pending is a log's place in the group commit. Target and the zero value of the
// rest is ready. It must not be copied. All fields but Target are guarded by
// Syncer.mu.
type Pending struct {
	Target Target

	queued  bool // in Syncer.queue
	running bool // a worker flushes it
	again   bool // flush once more after the running flush
	due     time.Time
	waiters []waiting
}

// waiting is a waiter and the end of what it appended.
type waiting struct {
	upTo   kafka.Offset
	waiter Waiter
}

// Syncer is the group commit of one directory: while one flush of a log runs, all
// that come for the same log share the next one. Workers are started on demand.
type Syncer struct {
	clock   clock.Clock
	fail    func(op string, err error)
	check   func() error
	max     int
	running sync.WaitGroup
	syncs   *metrics.Counter
	waits   *metrics.Counter

	mu      sync.Mutex
	queue   []*Pending
	workers int
	timed   []*Pending // have a due time
	timer   clock.Timer
	next    time.Time // when the timer fires; zero: it is not armed
	closed  bool
}

// Wait makes w wait until everything below upTo is on the disk. w may be called
// before Wait returns only if the directory is offline or closed.
func (s *Syncer) Wait(p *Pending, upTo kafka.Offset, w Waiter) {
	if err := s.check(); err != nil {
		w.Synced(err)
		return
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		w.Synced(ErrClosed)
		return
	}
	p.waiters = append(p.waiters, waiting{upTo, w})
	s.enqueue(p)
	s.mu.Unlock()
	s.waits.Add(1)
}

// Flush asks for a flush that nobody waits for.
func (s *Syncer) Flush(p *Pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.enqueue(p)
	}
}

// FlushWithin asks for a flush at most d from now (flush.ms). Later calls before
// that time cost a lock and nothing else.
func (s *Syncer) FlushWithin(p *Pending, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !p.due.IsZero() {
		return
	}
	now := s.clock.Now()
	p.due = now.Add(d)
	s.timed = append(s.timed, p)
	s.arm(now, p.due)
}

// arm makes the timer fire at due at the latest. Caller holds mu.
func (s *Syncer) arm(now, due time.Time) {
	if !s.next.IsZero() && !due.Before(s.next) {
		return
	}
	s.next = due
	if s.timer == nil {
		s.timer = s.clock.AfterFunc(due.Sub(now), s.flushDue)
		return
	}
	s.timer.Reset(due.Sub(now))
}

// flushDue queues the logs whose time has come.
func (s *Syncer) flushDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	now := s.clock.Now()
	s.next = time.Time{}
	rest := s.timed[:0]
	var first time.Time
	for _, p := range s.timed {
		if p.due.After(now) {
			rest = append(rest, p)
			if first.IsZero() || p.due.Before(first) {
				first = p.due
			}
			continue
		}
		p.due = time.Time{}
		s.enqueue(p)
	}
	clear(s.timed[len(rest):])
	s.timed = rest
	if !first.IsZero() {
		s.arm(now, first)
	}
}

// enqueue queues p once. Caller holds mu.
func (s *Syncer) enqueue(p *Pending) {
	switch {
	case p.queued:
		return
	case p.running:
		p.again = true
		return
	}
	p.queued = true
	s.queue = append(s.queue, p)
	if s.workers < s.max {
		s.workers++
		s.running.Add(1)
		go s.work()
	}
}

// work flushes logs until none is queued.
func (s *Syncer) work() {
	defer s.running.Done()
	s.mu.Lock()
	for len(s.queue) > 0 {
		p := s.queue[0]
		s.queue = append(s.queue[:0], s.queue[1:]...)
		p.queued, p.running = false, true
		s.mu.Unlock()
		done, err := s.flush(p)
		for _, w := range done {
			w.waiter.Synced(err)
		}
		s.mu.Lock()
	}
	s.workers--
	s.mu.Unlock()
}

// flush syncs one log and takes out the waiters that are served by it.
func (s *Syncer) flush(p *Pending) ([]waiting, error) {
	err := s.check()
	var flushed kafka.Offset
	if err == nil {
		s.syncs.Add(1)
		if flushed, err = p.Target.Sync(); err != nil && !errors.Is(err, ErrClosed) {
			s.fail("fdatasync", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.running = false
	var done []waiting
	if err != nil {
		done, p.waiters = p.waiters, nil
	} else {
		done, p.waiters = served(p.waiters, flushed)
	}
	if p.again || len(p.waiters) > 0 {
		p.again = false
		s.enqueue(p)
	}
	return done, err
}

// served splits the waiters into those below flushed and the rest.
func served(all []waiting, flushed kafka.Offset) (done, rest []waiting) {
	for _, w := range all {
		if w.upTo <= flushed {
			done = append(done, w)
		} else {
			rest = append(rest, w)
		}
	}
	return done, rest
}

// close lets queued flushes finish, and refuses new ones.
func (s *Syncer) close() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.running.Wait()
}
