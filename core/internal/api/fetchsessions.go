package api

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/metrics"
)

// evictionAge is how long a session is safe from larger ones, and how long one
// may stay unused before anybody may take its place.
const evictionAge = 2 * time.Minute

// fetchSessions is the bounded cache of sessions.
type fetchSessions struct {
	clock   clock.Clock
	purg    *purgatory.Purgatory
	slots   func() int
	count   *metrics.Gauge
	evicted *metrics.Counter

	mu    sync.Mutex
	all   map[int32]*fetchSession
	total int // size of all
}

// newFetchSessions makes an empty cache of slots() sessions.
func newFetchSessions(c clock.Clock, p *purgatory.Purgatory, slots func() int, reg *metrics.Registry) *fetchSessions {
	return &fetchSessions{
		clock: c, purg: p, slots: slots, all: map[int32]*fetchSession{},
		count:   reg.Gauge("mortise_api_fetch_sessions", "Incremental fetch sessions."),
		evicted: reg.Counter("mortise_api_fetch_session_evictions_total", "Sessions that had to make room for others."),
	}
}

// get finds a session; nil: there is none.
func (s *fetchSessions) get(id int32) *fetchSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// remove closes a session.
func (s *fetchSessions) remove(id int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.all[id]; f != nil {
		s.drop(f)
	}
}

// drop takes a session out. Caller holds mu.
func (s *fetchSessions) drop(f *fetchSession) {
	delete(s.all, f.id)
	if f.standing != nil {
		f.standing.over.Store(true)
	}
	s.total -= f.size
	s.count.Set(int64(len(s.all)))
}

// touch notes that a session of so many partitions is in use. It is false when
// there is no room for them: the session is closed, and its client starts anew.
func (s *fetchSessions) touch(f *fetchSession, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[f.id] != f {
		return true // closed meanwhile: this request is its last
	}
	s.total += size - f.size
	f.used, f.size = s.clock.Now(), size
	if s.total > sessionPartitionsMax {
		s.drop(f)
		return false
	}
	return true
}

// create makes an empty session for so many partitions; nil: there is no room.
func (s *fetchSessions) create(byID, replica bool, size int) *fetchSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slots := s.slots(); slots <= 0 || len(s.all) >= slots && !s.evict(replica, size) {
		return nil
	}
	if s.total+size > sessionPartitionsMax {
		return nil
	}
	now := s.clock.Now()
	f := &fetchSession{byID: byID, replica: replica, created: now, used: now, size: size, epoch: 1, parts: make(map[sessionKey]*sessionPartition, size)}
	f.order.prev, f.order.next = &f.order, &f.order
	if replica {
		f.standing = &standing{purgatory: s.purg}
	}
	for f.id == 0 || s.all[f.id] != nil {
		f.id = rand.Int32N(math.MaxInt32) + 1
	}
	s.all[f.id] = f
	s.total += size
	s.count.Set(int64(len(s.all)))
	return f
}

// evict makes room for a session of size partitions, as Kafka does: the one that was
// unused for longest if that is too long; else a follower's takes the place of the
// smallest consumer's; else the smallest that is old enough, not larger, and not a
// follower's unless the new one is. Caller holds mu.
func (s *fetchSessions) evict(replica bool, size int) bool {
	now := s.clock.Now()
	var stale, small *fetchSession
	for _, f := range s.all {
		if stale == nil || f.used.Before(stale.used) {
			stale = f
		}
		if f.yields(replica, size, now) && (small == nil || f.before(small)) {
			small = f
		}
	}
	victim := small
	if stale != nil && now.Sub(stale.used) > evictionAge {
		victim = stale
	}
	if victim == nil {
		return false
	}
	s.drop(victim)
	s.evicted.Add(1)
	return true
}
