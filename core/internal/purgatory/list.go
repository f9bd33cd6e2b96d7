package purgatory

import (
	"sync"
	"sync/atomic"
)

// List is the place where waiters of one partition hang. The zero value is
// ready. It must not be copied.
type List struct {
	progress atomic.Int64              // bytes that became visible since the start
	count    atomic.Int32              // linked entries
	queued   atomic.Bool               // stands in Purgatory.ready
	watchers atomic.Pointer[[]Watcher] // replaced under mu; nil: nobody watches

	mu   sync.Mutex
	head *Entry // guarded by mu
}

// Progress is the count of bytes that became visible so far. A request takes it
// before it reads, and parks with it.
func (l *List) Progress() int64 { return l.progress.Load() }

// Waiting is the number of waiters that hang here.
func (l *List) Waiting() int { return int(l.count.Load()) }

// Entry links a waiter to a list.
type Entry struct {
	List *List
	Seen int64 // List.Progress before the request read the partition

	waiter     *Waiter
	prev, next *Entry // guarded by List.mu
	linked     bool   // guarded by List.mu
}

// link hangs the entry at the head of its list.
func (e *Entry) link() {
	l := e.List
	l.mu.Lock()
	e.prev, e.next, e.linked = nil, l.head, true
	if l.head != nil {
		l.head.prev = e
	}
	l.head = e
	l.mu.Unlock()
	l.count.Add(1)
}

// unlink takes the entry off its list. It may be called twice.
func (e *Entry) unlink() {
	l := e.List
	l.mu.Lock()
	defer l.mu.Unlock()
	if !e.linked {
		return
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.head = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.prev, e.next, e.linked = nil, nil, false
	l.count.Add(-1)
}

// collect credits the list's progress to its waiters and claims those that have
// enough, until out is full. more says that it was full.
func (l *List) collect(out []*Waiter) (n int, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.progress.Load()
	for e := l.head; e != nil; e = e.next {
		if n == len(out) {
			return n, true
		}
		if e.credit(now) && e.waiter.claim() {
			out[n] = e.waiter
			n++
		}
	}
	return n, false
}

// credit moves the progress since Seen to the waiter and reports whether it has
// enough. Caller holds List.mu.
func (e *Entry) credit(now int64) bool {
	delta := now - e.Seen
	e.Seen = now
	return e.waiter.have.Add(delta) >= e.waiter.need
}

// recheck credits what came before the entry was linked.
func (e *Entry) recheck() {
	e.List.mu.Lock()
	defer e.List.mu.Unlock()
	e.credit(e.List.progress.Load())
}
