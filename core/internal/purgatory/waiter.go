package purgatory

import (
	"sync/atomic"
	"time"
)

// Reason says why a waiter was finished.
type Reason uint8

// The reasons.
const (
	Progress  Reason = iota // enough bytes, or a partition changed
	Timeout                 // the deadline came
	Cancelled               // nobody wants the answer any more
	Closed                  // the broker stops
)

// Completer is called once when its waiter is finished. It may read, answer and
// park again, but must not wait for the network or a disk sync.
type Completer interface {
	Complete(w *Waiter, why Reason)
}

// Outcome is what Park did.
type Outcome uint8

// The outcomes.
const (
	Parked Outcome = iota // the completer will be called
	Ready                 // the progress came meanwhile: read again. No call will follow.
	Gone                  // Cancel came first, or the purgatory is closed. No call will follow.
	Full                  // too many wait already. No call will follow.
)

// The life of a waiter.
const (
	idle uint32 = iota
	linking
	parked
	claimed
)

// Waiter is one request that waits. The zero value is ready; it may be parked
// again after it was finished. It must not be copied.
type Waiter struct {
	need int64 // bytes that finish it
	have atomic.Int64

	state     atomic.Uint32
	cancelled atomic.Bool
	hurried   atomic.Bool

	entries  []Entry
	done     Completer
	purg     *Purgatory
	deadline time.Duration // since Purgatory.start
	index    int           // in the heap; -1: not in it. Guarded by Purgatory.mu
}

// claim makes the caller the one who finishes the waiter.
func (w *Waiter) claim() bool { return w.state.CompareAndSwap(parked, claimed) }

// Cancel finishes the waiter with Cancelled, now or in its next Park. It may be
// called at any time and from any goroutine.
func (w *Waiter) Cancel() {
	w.cancelled.Store(true)
	if w.claim() {
		w.purg.finish(w, Cancelled)
	}
}

// Hurry finishes the waiter as its deadline would, or lets its next Park return Ready:
// whoever waits for the answer wants it now, whatever there is. It may be called at any
// time and from any goroutine.
func (w *Waiter) Hurry() {
	w.hurried.Store(true)
	if w.claim() {
		w.hurried.Store(false)
		w.purg.finish(w, Timeout)
	}
}

// waiterHeap orders waiters by deadline (container/heap).
type waiterHeap []*Waiter

func (h waiterHeap) Len() int           { return len(h) }
func (h waiterHeap) Less(i, j int) bool { return h[i].deadline < h[j].deadline }
func (h waiterHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *waiterHeap) Push(x any) {
	w := x.(*Waiter)
	w.index = len(*h)
	*h = append(*h, w)
}

// Pop implements heap.Interface.
func (h *waiterHeap) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	w.index = -1
	return w
}
