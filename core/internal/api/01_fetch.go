package api

import (
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// Fetch (key 1), versions 4–18.
//
// Behaviour: partitions are read in the order of the request or session, never
// past the high watermark (read_committed: the last stable offset). The first
// partition with records gives at least one whole batch, whatever the limits say
// (KIP-74); after it they are hard. Sessions as in KIP-227, topic ids from version
// 13 on, leader epochs and diverging epochs as in KIP-320 and KIP-595. A fetch
// that finds less than min.bytes waits in the purgatory and reads again when it is
// woken. Records leave as file ranges; nothing of them is copied here.
//
// A follower reads up to the log end (01_fetch_follower.go). Consumers of version 11 on
// may read from any replica, and are sent to the one in their rack when
// replica.selector.class says so (01_fetch_nearest.go).

// overheadFloor is the request size from which the response's own bytes are taken
// off, so that it fits into a client's receive buffer of the same size. Below,
// limits count records alone, as in Kafka.
const overheadFloor = 1 << 20

// The bytes around the records of a response, at most.
const (
	responseOverhead  = 64
	partitionOverhead = 96
	topicOverhead     = 24 // and the name
)

// fetchCall is one fetch request on its way. It is pooled; while it is parked
// only its parkedFetch holds it.
type fetchCall struct {
	a   *API
	r   *wire.Request
	req wire.FetchRequest

	follower    follower        // who asks, unless a consumer does
	session     *fetchSession   // nil: none
	sessionID   int32           // to answer with
	incremental bool            // answer only with what changed
	err         kafka.ErrorCode // of the whole request

	parts    []fetchPart
	seen     int64 // progress of a follower's session before its partitions were read
	out      []wire.FetchPartition
	deadline time.Time
	bytes    int64 // of records found by the last read
	failed   bool  // the last read found something that must be told at once
	parked   *parkedFetch
}

// fetchPartsKept bounds the room that a pooled call keeps.
const fetchPartsKept = 4096

// fetch answers key 1.
//
// Hot: per request. 0 allocs per partition that has records.
func (a *API) fetch(r *wire.Request) {
	c, ok := a.data.fetchCalls.Get().(*fetchCall)
	if !ok {
		c = new(fetchCall)
	}
	c.a, c.r = a, r
	if err := wire.DecodeFetch(&c.req, r.Version, r.Body); err != nil {
		r.Drop(err)
		c.free()
		return
	}
	if c.req.IsolationLevel != 0 && c.req.IsolationLevel != 1 {
		c.refuseIsolation()
		return
	}
	c.identify()
	if code := c.open(); code != kafka.None {
		c.refuse(code)
		return
	}
	c.limit()
	c.read(false)
	if c.ready() {
		c.reply()
		return
	}
	c.deadline = a.deps.Clock.Now().Add(time.Duration(c.req.MaxWaitMS) * time.Millisecond)
	c.park()
}

// open finds the session and what is to be fetched.
func (c *fetchCall) open() kafka.ErrorCode {
	sessions, q := c.a.data.sessions, &c.req
	if q.SessionEpoch == initialEpoch || q.SessionEpoch == finalEpoch {
		if q.SessionID != 0 {
			sessions.remove(q.SessionID)
		}
		c.fromRequest()
		if q.SessionEpoch == initialEpoch {
			c.createSession()
		}
		return kafka.None
	}
	s := sessions.get(q.SessionID)
	if s == nil {
		return kafka.ErrFetchSessionIDNotFound
	}
	s.hurry()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.epoch != q.SessionEpoch:
		return kafka.ErrInvalidFetchSessionEpoch
	case s.byID != (c.r.Version >= 13):
		return kafka.ErrFetchSessionTopicIDError
	}
	kept := s.update(q)
	if len(s.parts) == 0 {
		sessions.remove(s.id)
		c.fromRequest()
		return kafka.None
	}
	if !kept || !sessions.touch(s, len(s.parts)) {
		sessions.remove(s.id)
		return kafka.ErrFetchSessionIDNotFound
	}
	s.epoch = nextEpoch(s.epoch)
	c.session, c.sessionID, c.incremental = s, s.id, true
	c.gather()
	for p := s.order.next; p != &s.order; p = p.next {
		c.take(p)
	}
	return kafka.None
}

// fromRequest takes the partitions that the request itself names.
func (c *fetchCall) fromRequest() {
	for i := range c.req.Topics {
		t := &c.req.Topics[i]
		for _, want := range t.Partitions {
			c.parts = append(c.parts, fetchPart{name: t.Name, id: t.ID, want: want})
		}
	}
}

// createSession remembers the request's partitions if there is room for it.
func (c *fetchCall) createSession() {
	for i := range c.parts {
		if len(c.parts[i].name) > topicNameMax {
			return
		}
	}
	s := c.a.data.sessions.create(c.r.Version >= 13, c.follower.asks, len(c.parts))
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.session, c.sessionID = s, s.id
	c.gather()
	for i := range c.parts {
		p := &c.parts[i]
		p.told = s.put(p.name, p.id, p.want)
		p.told.at, p.looks = i, p.told.looks
	}
}

// limit bounds what a consumer asks for by what the broker allows.
func (c *fetchCall) limit() {
	q := &c.req
	q.MaxBytes = max(q.MaxBytes, 0)
	if !c.follower.asks {
		q.MaxBytes = int32(min(int64(q.MaxBytes), c.a.broker(c.a.image()).FetchMaxBytes))
	}
	q.MinBytes = min(q.MinBytes, q.MaxBytes)
	if q.MaxBytes <= overheadFloor || c.follower.asks {
		return
	}
	overhead := responseOverhead + len(c.parts)*partitionOverhead
	for i := range c.parts {
		if i == 0 || !c.parts[i].sameTopic(&c.parts[i-1]) {
			overhead += topicOverhead + len(c.parts[i].name)
		}
	}
	q.MaxBytes = max(q.MaxBytes-int32(min(overhead, int(q.MaxBytes)/2)), overheadFloor)
	q.MinBytes = min(q.MinBytes, q.MaxBytes)
}

// read reads every partition within the limits; again says that it did before.
func (c *fetchCall) read(again bool) {
	if again {
		c.gatherMore()
	}
	left, minOne := int(c.req.MaxBytes), true
	c.bytes, c.failed = 0, false
	for i := range c.parts {
		p := &c.parts[i]
		c.readOne(p, left, minOne, again && p.partition != nil) // it may have moved since the others were read
		if p.found.Code != kafka.None || p.found.DivergingEpoch != kafka.NoLeaderEpoch || p.nearest != kafka.NoBroker {
			c.failed = true
		}
		if p.found.Range != nil {
			n := p.found.Range.Len()
			c.bytes += n
			left, minOne = max(left-int(n), 0), false
		}
	}
}

// ready reports whether what was read is to be answered at once.
func (c *fetchCall) ready() bool {
	return c.failed || c.req.MaxWaitMS <= 0 || len(c.parts) == 0 && !c.standing() || c.bytes >= int64(c.req.MinBytes) || c.hurried()
}
