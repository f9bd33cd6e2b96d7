package purgatory

import (
	"container/heap"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/clock"
)

// DefaultMaxWaiters bounds how many requests wait when Options says nothing.
const DefaultMaxWaiters = 100_000

// DefaultMaxEntries bounds the partitions that they wait for: a request may name
// hundreds of thousands, and each is remembered with what was asked of it.
const DefaultMaxEntries = 500_000

// batchSize is how many waiters a worker claims in one walk of a list.
const batchSize = 64

// nudge is the progress that a Nudge counts as: more than the 2^31 bytes that a
// request can wait for. Counters may wrap around; only differences count.
const nudge = 1 << 32

// tick is the grain of deadlines.
const tick = time.Millisecond

// maxWait bounds a wait: 2^31-1 ms, the largest that the protocol can ask for.
const maxWait = (1<<31 - 1) * time.Millisecond

// Options are the parts of a Purgatory.
type Options struct {
	Clock      clock.Clock // nil: the system's
	MaxWaiters int         // 0: DefaultMaxWaiters
	MaxEntries int         // of all waiters; 0: DefaultMaxEntries
	MaxWorkers int         // goroutines that finish waiters; 0: GOMAXPROCS
}

// Purgatory keeps the waiters of a broker. It is safe for concurrent use.
type Purgatory struct {
	clock      clock.Clock
	start      time.Time
	maxWaiters int
	maxEntries int
	maxWorkers int
	running    sync.WaitGroup // workers

	closed atomic.Bool // set under mu

	mu        sync.Mutex
	deadlines waiterHeap
	timer     clock.Timer   // nil: never armed
	armed     time.Duration // when the timer fires; 0: not armed
	ready     []*List       // with progress to look at, from readyHead on
	readyHead int
	workers   int
	waiting   int
	entries   int // of those that wait
}

// New makes an empty purgatory.
func New(o Options) *Purgatory {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.MaxWaiters == 0 {
		o.MaxWaiters = DefaultMaxWaiters
	}
	if o.MaxEntries == 0 {
		o.MaxEntries = DefaultMaxEntries
	}
	if o.MaxWorkers == 0 {
		o.MaxWorkers = runtime.GOMAXPROCS(0)
	}
	return &Purgatory{clock: o.Clock, start: o.Clock.Now(), maxWaiters: o.MaxWaiters, maxEntries: o.MaxEntries, maxWorkers: o.MaxWorkers}
}

// Waiting is the number of parked waiters.
func (p *Purgatory) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// Advance says that n more bytes of the list's partition became visible.
//
// Hot: per append. 0 allocs; one atomic add and two loads when nobody waits or watches.
func (p *Purgatory) Advance(l *List, n int64) {
	l.progress.Add(n)
	l.tell(n)
	if l.count.Load() != 0 {
		p.enqueue(l)
	}
}

// Nudge finishes all waiters of the list: its partition changed in another way
// than by growing. It counts as more progress than anybody can wait for, so that
// one between Entry.Seen and Park is not lost either.
func (p *Purgatory) Nudge(l *List) { p.Advance(l, nudge) }

// Park makes w wait until need bytes became visible on its entries since they
// were seen, or wait has passed. done is called when it returns Parked. The
// entries belong to w until it is finished.
func (p *Purgatory) Park(w *Waiter, entries []Entry, need int64, wait time.Duration, done Completer) Outcome {
	need = min(need, nudge)
	w.need, w.entries, w.done, w.purg = need, entries, done, p
	w.have.Store(0)
	w.index = -1
	if out := p.admit(len(entries)); out != Parked {
		return out
	}
	w.state.Store(linking)
	for i := range entries {
		entries[i].waiter = w
		entries[i].link()
	}
	for i := range entries {
		entries[i].recheck()
	}
	p.schedule(w, wait)
	w.state.Store(parked)
	// From here on w may be finished and parked again by somebody else, so that
	// only its atomics may be read until it is claimed, whichever parking that ends.
	gone := w.cancelled.Load() || p.closed.Load()
	if (gone || w.hurried.Load() || w.have.Load() >= need) && w.claim() {
		p.release(w)
		w.hurried.Store(false)
		if gone {
			return Gone
		}
		return Ready
	}
	return Parked
}

// admit counts one more waiter in.
func (p *Purgatory) admit(entries int) Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed.Load():
		return Gone
	case p.waiting >= p.maxWaiters, p.entries+entries > p.maxEntries:
		return Full
	}
	p.waiting++
	p.entries += entries
	return Parked
}

// schedule puts w into the heap and arms the timer when w comes first.
func (p *Purgatory) schedule(w *Waiter, wait time.Duration) {
	at := p.clock.Now().Sub(p.start) + min(max(wait, 0), maxWait)
	p.mu.Lock()
	defer p.mu.Unlock()
	w.deadline = (at + tick - 1).Truncate(tick)
	heap.Push(&p.deadlines, w)
	p.arm()
}

// arm makes the timer fire at the earliest deadline. Caller holds mu.
func (p *Purgatory) arm() {
	if len(p.deadlines) == 0 || p.closed.Load() {
		return
	}
	first := p.deadlines[0].deadline
	if p.armed != 0 && p.armed <= first {
		return
	}
	p.armed = max(first, tick)
	d := first - p.clock.Now().Sub(p.start)
	if p.timer == nil {
		p.timer = p.clock.AfterFunc(d, p.expire)
		return
	}
	p.timer.Reset(d)
}

// expire finishes the waiters whose time has come. They are claimed under mu: one
// that was taken out of the heap but not claimed could be parked again meanwhile,
// and would then stand in the heap twice.
func (p *Purgatory) expire() {
	var due, linked []*Waiter
	p.mu.Lock()
	p.armed = 0
	now := p.clock.Now().Sub(p.start)
	for len(p.deadlines) > 0 && p.deadlines[0].deadline <= now {
		w := heap.Pop(&p.deadlines).(*Waiter)
		switch {
		case w.claim():
			due = append(due, w)
		case w.state.Load() == linking:
			linked = append(linked, w)
		} // else somebody else finishes it
	}
	for _, w := range linked { // Park is about to end: one tick more
		w.deadline = now + tick
		heap.Push(&p.deadlines, w)
	}
	p.arm()
	p.mu.Unlock()
	for _, w := range due {
		p.finish(w, Timeout)
	}
}

// enqueue hands the list to a worker.
func (p *Purgatory) enqueue(l *List) {
	if !l.queued.CompareAndSwap(false, true) {
		return
	}
	p.mu.Lock()
	p.ready = append(p.ready, l)
	spawn := p.workers < p.maxWorkers && !p.closed.Load()
	if spawn {
		p.workers++
		p.running.Add(1)
	}
	p.mu.Unlock()
	if spawn {
		go p.work()
	}
}

// work finishes waiters until no list is queued.
func (p *Purgatory) work() {
	defer p.running.Done()
	var batch [batchSize]*Waiter
	for {
		l := p.nextReady()
		if l == nil {
			return
		}
		l.queued.Store(false) // what comes from here on queues it again
		for more := true; more; {
			var n int
			n, more = l.collect(batch[:])
			for i, w := range batch[:n] {
				batch[i] = nil
				p.finish(w, Progress)
			}
		}
	}
}

// nextReady takes the list that was queued first; nil ends the worker.
func (p *Purgatory) nextReady() *List {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readyHead == len(p.ready) {
		p.ready, p.readyHead = p.ready[:0], 0
		p.workers--
		return nil
	}
	l := p.ready[p.readyHead]
	p.ready[p.readyHead] = nil
	p.readyHead++
	if p.readyHead > len(p.ready)/2 { // or it grows for as long as it is never empty
		n := copy(p.ready, p.ready[p.readyHead:])
		clear(p.ready[n:])
		p.ready, p.readyHead = p.ready[:n], 0
	}
	return l
}

// finish takes a claimed waiter out and calls its completer.
func (p *Purgatory) finish(w *Waiter, why Reason) {
	p.release(w)
	w.done.Complete(w, why)
}

// release takes a claimed waiter off its lists and out of the heap.
func (p *Purgatory) release(w *Waiter) {
	for i := range w.entries {
		w.entries[i].unlink()
	}
	p.mu.Lock()
	if w.index >= 0 {
		heap.Remove(&p.deadlines, w.index)
	}
	p.waiting--
	p.entries -= len(w.entries)
	w.state.Store(idle)
	p.mu.Unlock()
}

// Close finishes all waiters with Closed, refuses new ones and waits for the
// workers to end.
func (p *Purgatory) Close() {
	p.mu.Lock()
	p.closed.Store(true)
	if p.timer != nil {
		p.timer.Stop()
	}
	rest := append([]*Waiter(nil), p.deadlines...)
	p.mu.Unlock()
	for _, w := range rest {
		if w.claim() {
			p.finish(w, Closed)
		}
	}
	p.running.Wait()
}
