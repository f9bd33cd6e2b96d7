package fetcher

import (
	"container/heap"
	"time"
)

// restFirst is the first rest after a fault that the cluster's next picture ends: a
// leader that does not know yet that it leads. Each further one is twice as long.
const restFirst = 5 * time.Millisecond

// rest leaves a follower alone for a while: soon for a short one that grows, up to
// replica.fetch.backoff.ms.
func (s *Session) rest(f *follower, now time.Time, soon bool) {
	d := time.Duration(s.o.Config().FetchBackoffMS) * time.Millisecond
	if soon && f.tries < 16 {
		d = min(d, restFirst<<f.tries)
	}
	f.tries++
	s.restFor(f, now, d)
}

// restFor leaves a follower alone for d.
func (s *Session) restFor(f *follower, now time.Time, d time.Duration) {
	s.enter(f, resting)
	f.until = now.Add(d)
	heap.Push(&s.rests, f)
}

// wake ends the rests whose time has come.
func (s *Session) wake(now time.Time) {
	for len(s.rests) > 0 && !s.rests[0].until.After(now) {
		f := s.rests[0]
		s.enter(f, fetching)
		s.touch(f)
		s.urgent = true
	}
}

// restHeap orders followers by the end of their rest (container/heap).
type restHeap []*follower

func (h restHeap) Len() int           { return len(h) }
func (h restHeap) Less(i, j int) bool { return h[i].until.Before(h[j].until) }
func (h restHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *restHeap) Push(x any) {
	f := x.(*follower)
	f.index = len(*h)
	*h = append(*h, f)
}

// Pop implements heap.Interface.
func (h *restHeap) Pop() any {
	old := *h
	f := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	f.index = -1
	return f
}

// remove takes a follower out, wherever it stands.
func (h *restHeap) remove(f *follower) {
	if f.index >= 0 {
		heap.Remove(h, f.index)
	}
}
