package api

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
)

// A follower fetches thousands of partitions with one session, of which few have anything
// for it. So its session watches them: a fetch looks at those that it names, at those that
// moved since they were looked at last, and at those that are not settled, which a
// follower in sync is that has all there is. A fetch that finds nothing waits for the
// next move of any of them.
//
// From time to time everything is looked at (walk). It says when the follower was there
// last, by which a leader tells who keeps up; and what nobody is told of, as an ISR in which
// one replica took another's place, takes no longer than that.
//
// Cost of a fetch: what moved, not what is followed.

// standing is what moves in the partitions of a follower's session.
type standing struct {
	purgatory *purgatory.Purgatory
	ends      purgatory.List // moves with the log end of any partition: where the fetch waits
	over      atomic.Bool    // the session is closed

	// Guarded by fetchSession.mu.
	taken  []*sessionPartition // what gather gave last
	walked time.Time           // when everything was to be looked at last
	epoch  int64               // of the registration that asked then

	mu    sync.Mutex          // a leaf: the appender takes it
	moved []*sessionPartition // since the last gather; guarded by mu
}

// walksInLag is how often everything is looked at within replica.lag.time.max.ms: so much
// earlier than that a follower may seem to lag.
const walksInLag = 8

// note says that a partition moved. When it returns, the partition stands in moved, or
// was gathered and is not read yet: whoever wakes the fetch afterwards, wakes it for that.
func (s *standing) note(p *sessionPartition) {
	if p.moved.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.moved.Load() {
		s.moved = append(s.moved, p)
		p.moved.Store(true)
	}
}

// endWatcher is told of a partition's log end, and of changes of its role.
type endWatcher sessionPartition

// Moved implements purgatory.Watcher.
//
// Hot: per append and follower. 0 allocs.
func (w *endWatcher) Moved(n int64) {
	w.standing.note((*sessionPartition)(w))
	w.standing.purgatory.Advance(&w.standing.ends, n)
}

// Over implements purgatory.Watcher.
func (w *endWatcher) Over() bool { return w.standing.over.Load() }

// committedWatcher is told of a partition's high watermark. A follower hears of it with
// its next answer, but no answer comes for it.
type committedWatcher sessionPartition

// Moved implements purgatory.Watcher.
//
// Hot: as endWatcher's.
func (w *committedWatcher) Moved(int64) { w.standing.note((*sessionPartition)(w)) }

// Over implements purgatory.Watcher.
func (w *committedWatcher) Over() bool { return w.standing.over.Load() }

// watch has the session told of what happens to a partition. Caller holds fetchSession.mu.
func (p *sessionPartition) watch(at *partition.Partition) {
	if p.watched == at || p.forgot {
		return
	}
	p.unwatch()
	p.watched = at
	at.ReplicaWaiters().Watch((*endWatcher)(p))
	at.Waiters().Watch((*committedWatcher)(p))
}

// unwatch ends that. Caller holds fetchSession.mu.
func (p *sessionPartition) unwatch() {
	if at := p.watched; at != nil {
		at.ReplicaWaiters().Unwatch((*endWatcher)(p))
		at.Waiters().Unwatch((*committedWatcher)(p))
		p.watched = nil
	}
}

// look puts a partition among those that are looked at. Caller holds mu.
func (f *fetchSession) look(p *sessionPartition) {
	p.looks++
	if p.next == nil {
		f.pushBack(p)
	}
}

// gather has what moved looked at, and gives it. Caller holds mu.
func (f *fetchSession) gather() []*sessionPartition {
	s := f.standing
	clear(s.taken)
	s.mu.Lock()
	s.moved, s.taken = s.taken[:0], s.moved
	s.mu.Unlock()
	for _, p := range s.taken {
		p.moved.Store(false) // before it is read: what comes from here on is a move again
		if !p.forgot {
			f.look(p)
		}
	}
	return s.taken
}

// walk has everything looked at, if that was not done within every, or if the follower was
// registered anew. Caller holds mu.
func (f *fetchSession) walk(now time.Time, every time.Duration, epoch int64) {
	s := f.standing
	if s.epoch == epoch && now.Sub(s.walked) < every {
		return
	}
	s.walked, s.epoch = now, epoch
	all := make([]*sessionPartition, 0, len(f.parts))
	for _, p := range f.parts {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *sessionPartition) int { // so that those of a topic stand together
		return cmp.Or(bytes.Compare(a.id[:], b.id[:]), bytes.Compare(a.name, b.name), cmp.Compare(a.want.Index, b.want.Index))
	})
	for _, p := range all {
		f.look(p)
	}
}

// settle has a partition looked at no more until it moves, if the read of a call found it
// settled and nothing came since. Caller holds mu.
func (f *fetchSession) settle(p *fetchPart) {
	if p.settled && p.looks == p.told.looks {
		p.told.unlink()
	}
}

// standing reports whether the call is one of a follower's session.
func (c *fetchCall) standing() bool { return c.session != nil && c.session.standing != nil }

// gather finds what a follower's session has to look at. Caller holds the session's mu.
func (c *fetchCall) gather() {
	if !c.standing() {
		return
	}
	c.seen = c.session.standing.ends.Progress() // before anything is read
	c.session.gather()
	lag := time.Duration(c.a.broker(c.a.image()).Replication.LagTimeMaxMS) * time.Millisecond
	c.session.walk(c.a.deps.Clock.Now(), lag/walksInLag, c.req.ReplicaEpoch)
}

// gatherMore adds what moved while the call waited.
func (c *fetchCall) gatherMore() {
	if !c.standing() {
		return
	}
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	c.seen = s.standing.ends.Progress()
	for _, p := range s.gather() {
		if !p.forgot {
			c.take(p)
		}
	}
}

// take adds a partition of the session to what the call reads, or notes that it is to be
// looked at once more. Caller holds the session's mu.
func (c *fetchCall) take(p *sessionPartition) {
	if p.at < len(c.parts) && c.parts[p.at].told == p {
		c.parts[p.at].looks = p.looks
		return
	}
	p.at = len(c.parts)
	c.parts = append(c.parts, fetchPart{name: p.name, id: p.id, want: p.want, told: p, looks: p.looks})
}

// attend has the session told of what happens to a partition from now on, before it is
// read.
func (c *fetchCall) attend(p *fetchPart) {
	if !c.standing() {
		return
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	p.told.watch(p.partition)
}

// hasAll reports whether a follower that found nothing has all there is, and is in sync.
func (c *fetchCall) hasAll(p *fetchPart) bool {
	return p.found.Code == kafka.None && p.found.DivergingEpoch == kafka.NoLeaderEpoch &&
		p.want.FetchOffset >= p.partition.EndOffset() && p.partition.ReplicaInSync(c.req.ReplicaID)
}

var (
	_ purgatory.Watcher = (*endWatcher)(nil)
	_ purgatory.Watcher = (*committedWatcher)(nil)
)
