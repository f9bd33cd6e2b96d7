package producerstate

import (
	"sync"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
)

// DefaultLimit is how many producer ids a process remembers unless it is told
// otherwise: about 200 bytes each.
const DefaultLimit = 1_000_000

// evictBatch is the share of the limit that is forgotten when it is reached, so
// that looking for the oldest is paid for by many appends.
const evictBatch = 64

// Budget bounds the producer ids of a process: a client that takes a new id per
// message must not exhaust memory. Beyond the limit the producers that were idle
// for the longest time are forgotten, never one with an open transaction. A
// forgotten producer may go on with any sequence number, as after expiry.
type Budget struct {
	limit   int
	live    *metrics.Gauge
	evicted *metrics.Counter

	mu     sync.Mutex
	total  int            // guarded by mu
	states map[*State]int // producers of each state; guarded by mu
	busy   bool           // somebody evicts; guarded by mu
}

// NewBudget makes a budget of limit producer ids (0: DefaultLimit). A nil registry
// means private metrics.
func NewBudget(limit int, reg *metrics.Registry) *Budget {
	if limit <= 0 {
		limit = DefaultLimit
	}
	if reg == nil {
		reg = metrics.NewRegistry()
	}
	return &Budget{
		limit:   limit,
		states:  map[*State]int{},
		live:    reg.Gauge("mortise_producerstate_producers", "Producer ids remembered by all partitions."),
		evicted: reg.Counter("mortise_producerstate_evicted_total", "Producer ids forgotten because there were too many."),
	}
}

// Len is the number of producer ids remembered.
func (b *Budget) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// took counts n producers more of s, and evicts when there are too many.
func (b *Budget) took(s *State, n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	b.count(s, n)
	if b.total <= b.limit || b.busy {
		b.mu.Unlock()
		return
	}
	b.busy = true
	states := make([]*State, 0, len(b.states))
	for s := range b.states {
		states = append(states, s)
	}
	need := b.total - b.limit + b.limit/evictBatch
	b.mu.Unlock()
	b.evict(states, need)
	b.mu.Lock()
	b.busy = false
	b.mu.Unlock()
}

// gave counts n producers less of s.
func (b *Budget) gave(s *State, n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count(s, -n)
}

// count changes the numbers. Caller holds mu.
func (b *Budget) count(s *State, n int) {
	b.total += n
	b.live.Add(int64(n))
	if b.states[s] += n; b.states[s] == 0 { // below zero: an eviction was quicker than took
		delete(b.states, s)
	}
}

// evict forgets about need producers. The age below which they go is found by
// halving, which needs no sorted list of all of them.
func (b *Budget) evict(states []*State, need int) {
	low, high := int64(1<<62), int64(0)
	for _, s := range states {
		l, h := s.ages()
		low, high = min(low, l), max(high, h)
	}
	for low < high { // the smallest time that lets enough go
		mid := low + (high-low)/2
		n := 0
		for _, s := range states {
			n += s.idleSince(mid)
		}
		if n >= need {
			high = mid
		} else {
			low = mid + 1
		}
	}
	for _, s := range states {
		if need <= 0 {
			return
		}
		n := s.evict(high, need)
		need -= n
		b.evicted.Add(uint64(n))
		b.gave(s, n)
	}
}

// ages is the least and the largest time of last use.
func (s *State) ages() (low, high int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	low = 1 << 62
	for _, e := range s.producers {
		low, high = min(low, e.seenMS), max(high, e.seenMS)
	}
	return low, high
}

// idleSince counts the producers that may be forgotten and were not used after
// ms.
func (s *State) idleSince(ms int64) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.producers {
		if e.seenMS <= ms && e.txnFirst == kafka.NoOffset {
			n++
		}
	}
	return n
}

// evict forgets at most limit producers that were not used after ms.
func (s *State) evict(ms int64, limit int) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, e := range s.producers {
		if n == limit {
			break
		}
		if e.seenMS <= ms && e.txnFirst == kafka.NoOffset {
			delete(s.producers, id)
			n++
		}
	}
	s.shrink()
	return n
}
