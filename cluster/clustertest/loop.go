package clustertest

import (
	"container/heap"
	"time"
)

// loop is the simulation's time: what shall happen when. Events of one moment happen
// in the order in which they were asked for, so that a seed is one run.
type loop struct {
	now    time.Duration // since the start
	asked  uint64
	events eventHeap
}

// event is something that happens later.
type event struct {
	at    time.Duration
	order uint64
	run   func()
}

// after has f happen once d has passed.
func (l *loop) after(d time.Duration, f func()) { l.at(l.now+max(d, 0), f) }

// at has f happen at a time; not before now.
func (l *loop) at(t time.Duration, f func()) {
	l.asked++
	heap.Push(&l.events, event{max(t, l.now), l.asked, f})
}

// step lets the next event happen, unless it comes after end.
func (l *loop) step(end time.Duration) bool {
	if len(l.events) == 0 || l.events[0].at > end {
		return false
	}
	e := heap.Pop(&l.events).(event)
	l.now = e.at
	e.run()
	return true
}

// eventHeap orders events by time, then by order (container/heap).
type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *eventHeap) Push(x any) { *h = append(*h, x.(event)) }

// Pop implements heap.Interface.
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return e
}
