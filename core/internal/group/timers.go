package group

import "container/heap"

// timerKind says what happens when a deadline comes.
type timerKind uint8

// The kinds of deadlines.
const (
	sessionTimer    timerKind = iota // a member was not heard of
	pendingTimer                     // a member id that was given out was not used (KIP-394)
	joinTimer                        // a rebalance waited long enough for members
	syncTimer                        // members got a generation and did not ask for their assignment
	rebalanceTimer                   // a member did not give partitions up (consumer protocol)
	rejoinTimer                      // a classic member of a consumer group did not join again
	memberSyncTimer                  // and did not ask for its assignment
	sweepTimer                       // look for expired offsets
)

// timer is one deadline. The zero value is not set.
type timer struct {
	at   int64 // its place in the heap
	due  int64 // when it really comes; never before at
	slot int   // index in the heap + 1; 0: not set

	kind   timerKind
	group  *Group
	member string
}

// deadlines is a heap of timers. Moving a deadline out costs nothing: it is looked
// at again when its old time comes.
type deadlines struct{ heap timerHeap }

// set sets a timer to a time.
func (d *deadlines) set(t *timer, at int64) {
	t.due = at
	switch {
	case t.slot == 0:
		t.at = at
		heap.Push(&d.heap, t)
	case at < t.at:
		t.at = at
		heap.Fix(&d.heap, t.slot-1)
	}
}

// cancel unsets a timer.
func (d *deadlines) cancel(t *timer) {
	if t.slot > 0 {
		heap.Remove(&d.heap, t.slot-1)
	}
}

// next is the time at which pop has to be asked; false: nothing is set.
func (d *deadlines) next() (int64, bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].at, true
}

// pop takes the first timer out that is due; nil: none is.
func (d *deadlines) pop(now int64) *timer {
	for len(d.heap) > 0 && d.heap[0].at <= now {
		t := d.heap[0]
		if t.due <= now {
			heap.Pop(&d.heap)
			return t
		}
		t.at = t.due
		heap.Fix(&d.heap, 0)
	}
	return nil
}

// timerHeap implements heap.Interface.
type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i+1, j+1
}

// Push implements heap.Interface.
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	*h = append(*h, t)
	t.slot = len(*h)
}

// Pop implements heap.Interface.
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.slot = 0
	return t
}

// Next is when Expire wants to be called, in milliseconds since 1970; false: never,
// as things are.
func (s *State) Next() (int64, bool) { return s.timers.next() }

// Expire does what one deadline that has come asks for. Call it, and Appended, until
// ok is false.
func (s *State) Expire(now int64) (out Output, ok bool) {
	t := s.timers.pop(now)
	if t == nil {
		return Output{}, false
	}
	g := t.group
	switch t.kind {
	case rebalanceTimer, rejoinTimer, memberSyncTimer:
		s.watchEnded(g, t, now, &out)
	case sessionTimer:
		if g.consumers != nil {
			s.watchEnded(g, t, now, &out)
		} else if m := g.members[t.member]; m != nil && &m.session == t {
			s.sessionEnded(g, m, now, &out)
		}
	case pendingTimer:
		delete(g.pending, t.member)
		s.completeIfAllJoined(g, now, &out)
	case joinTimer:
		s.joinWaitEnded(g, now, &out)
	case syncTimer:
		s.syncWaitEnded(g, now, &out)
	case sweepTimer:
		s.timers.set(&s.sweep, now+s.config.CheckIntervalMS)
		out = s.expireOffsets(now)
	}
	return out, true
}
