package api

import (
	"bytes"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// Fetch sessions (KIP-227): a consumer names its partitions once and afterwards
// only what changed; the broker answers only with what changed.

// The session epochs with a meaning of their own.
const (
	initialEpoch int32 = 0  // full request that wants a session
	finalEpoch   int32 = -1 // full request without a session; closes the one it names
)

// sessionPartitionsMax bounds the partitions of all sessions together, some 300
// bytes each: slots bound only how many sessions there are.
const sessionPartitionsMax = 1_000_000

// sessionKey names a partition in a session.
type sessionKey struct {
	name      string // empty with topic ids
	id        kafka.TopicID
	partition int32
}

// sessionPartition is one partition of a session, with what the client was told.
// Guarded by fetchSession.mu.
type sessionPartition struct {
	name []byte
	id   kafka.TopicID
	want wire.FetchRange

	toldHW, toldStart kafka.Offset

	prev, next *sessionPartition // nil: nobody need look at it

	// The rest is of a follower's session.
	standing *standing
	watched  *partition.Partition // whose lists tell of it; nil: none's
	moved    atomic.Bool          // stands in standing.moved
	forgot   bool                 // it is in the session no more
	looks    int                  // how often it came to be looked at
	at       int                  // in the parts of the last call that took it
}

// fetchSession is one client's partitions in the order in which they are read:
// those that gave records last are at the end. A follower's are looked at only when they
// moved (standing).
type fetchSession struct {
	id      int32
	byID    bool // topic ids instead of names
	created time.Time
	used    time.Time // guarded by fetchSessions.mu
	size    int       // guarded by fetchSessions.mu

	replica  bool      // a follower's: no consumer's takes its place
	standing *standing // what moves in it; nil: it is a consumer's

	mu      sync.Mutex
	epoch   int32 // of the next request
	parts   map[sessionKey]*sessionPartition
	order   sessionPartition // ring of what is to be looked at: order.next is first
	waiting *parkedFetch     // may be answered by now; nil: none
}

// yields reports whether a session may be dropped for a new one of size partitions.
func (f *fetchSession) yields(replica bool, size int, now time.Time) bool {
	if replica && !f.replica {
		return true
	}
	return replica == f.replica && now.Sub(f.created) > evictionAge && f.size <= size
}

// before reports whether a session is dropped rather than another.
func (f *fetchSession) before(o *fetchSession) bool {
	if f.replica != o.replica {
		return o.replica
	}
	return f.size < o.size
}

// nextEpoch follows an epoch; after the largest comes 1.
func nextEpoch(e int32) int32 {
	if e == math.MaxInt32 {
		return 1
	}
	return e + 1
}

// keyOf names a partition of a request.
func (f *fetchSession) keyOf(name []byte, id kafka.TopicID, partition int32) sessionKey {
	if f.byID {
		return sessionKey{id: id, partition: partition}
	}
	return sessionKey{name: string(name), partition: partition}
}

// put adds a partition or changes what is wanted of it. Caller holds mu or is the
// only one who knows f.
func (f *fetchSession) put(name []byte, id kafka.TopicID, want wire.FetchRange) *sessionPartition {
	k := f.keyOf(name, id, want.Index)
	p := f.parts[k]
	if p == nil {
		p = &sessionPartition{name: bytes.Clone(name), id: id, toldHW: kafka.NoOffset, toldStart: kafka.NoOffset, standing: f.standing}
		f.parts[k] = p
	}
	p.want = want
	f.look(p)
	return p
}

// forget takes a partition out. Caller holds mu.
func (f *fetchSession) forget(name []byte, id kafka.TopicID, partition int32) {
	k := f.keyOf(name, id, partition)
	if p := f.parts[k]; p != nil {
		p.unlink()
		p.unwatch()
		p.forgot = true
		delete(f.parts, k)
	}
}

// update applies an incremental request. It is false when the request names what
// cannot be kept. Caller holds mu.
func (f *fetchSession) update(q *wire.FetchRequest) bool {
	for i := range q.Topics {
		t := &q.Topics[i]
		if len(t.Name) > topicNameMax {
			return false
		}
		for _, want := range t.Partitions {
			f.put(t.Name, t.ID, want)
		}
	}
	for i := range q.Forgotten {
		t := &q.Forgotten[i]
		for _, partition := range t.Partitions {
			f.forget(t.Name, t.ID, partition)
		}
	}
	return true
}

// pushBack puts p at the end of the order.
func (f *fetchSession) pushBack(p *sessionPartition) {
	p.prev, p.next = f.order.prev, &f.order
	p.prev.next, p.next.prev = p, p
}

// unlink takes p out of the order. It may be called twice.
func (p *sessionPartition) unlink() {
	if p.next == nil {
		return
	}
	p.prev.next, p.next.prev = p.next, p.prev
	p.prev, p.next = nil, nil
}

// tell notes what the client is told, and reports whether it must be told: there
// are records, an error, or something that it does not know yet. In an incremental
// answer what gave records goes to the end of the order. Caller holds mu.
func (f *fetchSession) tell(p *sessionPartition, out *wire.FetchPartition, incremental bool) bool {
	must := out.Records != nil || out.Err != kafka.None || out.Diverging != nil || out.PreferredReadReplica != kafka.NoBroker
	if p.toldHW != out.HighWatermark {
		p.toldHW, must = out.HighWatermark, true
	}
	if p.toldStart != out.LogStartOffset {
		p.toldStart, must = out.LogStartOffset, true
	}
	if out.Err != kafka.None {
		p.toldHW = kafka.NoOffset // so that the partition is told again once it is well
	}
	if incremental && out.Records != nil && p.next != nil {
		p.unlink()
		f.pushBack(p)
	}
	return must
}
