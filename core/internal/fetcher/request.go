package fetcher

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// Next gives the frame of the next request, length and all; nil: there is nothing to
// send now. Call it after Follow, Unfollow and Handle, and when Wake says so, until it
// gives nil. The frame is good until the next call.
//
// Hot: per answer. 0 allocs once it has grown.
func (s *Session) Next(now time.Time) []byte {
	s.wake(now)
	switch {
	case len(s.flights) == 0:
		if frame := s.ask(); frame != nil {
			return frame
		}
	case len(s.flights) == flightsMax, !s.urgent, s.full(), s.flights[0].what != fetch:
		return nil
	}
	return s.fetch(now)
}

// full reports whether the next request names every partition.
func (s *Session) full() bool { return s.id == 0 || s.epoch == 0 }

// fetch builds a Fetch of what changed.
func (s *Session) fetch(now time.Time) []byte {
	s.urgent = false
	full := s.full()
	if full {
		s.unknow()
		s.dirty = append(s.dirty[:0], s.all...)
	}
	s.names.reset(&s.request)
	s.wanted(now)
	s.unwanted()
	if s.known == 0 {
		if !full {
			s.restart(s.id) // an empty session is none
		}
		return nil
	}
	q, c := &s.request, s.o.Config()
	s.names.cut(q)
	q.ReplicaID, q.ReplicaEpoch = s.o.Self, int64(s.o.Epoch())
	q.MaxWaitMS, q.MinBytes, q.MaxBytes = int32(c.FetchWaitMaxMS), int32(c.FetchMinBytes), int32(c.FetchResponseMaxBytes)
	q.SessionID, q.SessionEpoch = s.id, s.epoch
	if !full {
		s.epoch = nextEpoch(s.epoch)
	}
	s.begin(wire.KeyFetch, wire.FollowerVersion)
	s.frame = wire.AppendFetch(s.frame, q)
	s.o.Stats.Requests.Add(1)
	return s.end(flight{what: fetch, full: full})
}

// wanted names what is wanted of the dirty followers.
func (s *Session) wanted(now time.Time) {
	slices.SortFunc(s.dirty, compareKeys)
	most := int32(s.o.Config().FetchMaxBytes)
	for n, f := range s.dirty {
		s.dirty[n], f.dirty = nil, false
		if f.phase != fetching || s.held(f, now) {
			continue
		}
		if f.replica.Offline() != nil {
			s.enter(f, failed)
			continue
		}
		end, last, role := f.replica.FetchState()
		f.sent = wire.FetchRange{Index: f.partition, CurrentLeaderEpoch: role, FetchOffset: end, LastFetchedEpoch: last,
			LogStartOffset: f.replica.StartOffset(), MaxBytes: most}
		f.in = s.sent + 1
		if !f.known {
			f.known = true
			s.known++
		}
		s.names.add(&s.request, f.topic, f.sent)
	}
	s.dirty = s.dirty[:0]
}

// unwanted names what the leader's session should have no longer.
func (s *Session) unwanted() {
	slices.SortFunc(s.forget, compareKey)
	for _, k := range slices.Compact(s.forget) {
		if f := s.parts[k]; f == nil || !f.known {
			s.names.forget(&s.request, k)
		}
	}
	s.forget = s.forget[:0]
}

// begin starts a frame.
func (s *Session) begin(api, version int16) {
	s.frame = append(s.frame[:0], 0, 0, 0, 0)
	s.frame = wire.AppendHeader(s.frame, &wire.Header{Key: api, Version: version, CorrelationID: correlation(s.sent + 1), ClientID: s.name})
}

// end ends a frame and notes that it is out.
func (s *Session) end(f flight) []byte {
	binary.BigEndian.PutUint32(s.frame, uint32(len(s.frame)-4))
	s.sent++
	f.number, f.generation = s.sent, s.generation
	s.flights = append(s.flights, f)
	return s.frame
}

// correlation is the correlation id of a request.
func correlation(number uint64) int32 { return int32(number & math.MaxInt32) }

// nextEpoch follows an epoch of a session; after the largest comes 1.
func nextEpoch(e int32) int32 {
	if e == math.MaxInt32 {
		return 1
	}
	return e + 1
}

// names are the lists of a request: partitions grouped by topic, in memory that is
// used again.
type names struct {
	ranges    []wire.FetchRange
	forgotten []int32
	ends      []int // in ranges, of each topic
	lastEnds  []int // in forgotten, of each topic
}

func (n *names) reset(q *wire.FetchRequest) {
	q.Topics, q.Forgotten = q.Topics[:0], q.Forgotten[:0]
	n.ranges, n.forgotten, n.ends, n.lastEnds = n.ranges[:0], n.forgotten[:0], n.ends[:0], n.lastEnds[:0]
}

// add names a partition.
func (n *names) add(q *wire.FetchRequest, topic kafka.TopicID, r wire.FetchRange) {
	if len(q.Topics) == 0 || q.Topics[len(q.Topics)-1].ID != topic {
		q.Topics, n.ends = append(q.Topics, wire.FetchTopic{ID: topic}), append(n.ends, 0)
	}
	n.ranges = append(n.ranges, r)
	n.ends[len(n.ends)-1] = len(n.ranges)
}

// forget names a partition that is to be forgotten.
func (n *names) forget(q *wire.FetchRequest, k key) {
	if len(q.Forgotten) == 0 || q.Forgotten[len(q.Forgotten)-1].ID != k.topic {
		q.Forgotten, n.lastEnds = append(q.Forgotten, wire.ForgottenTopic{ID: k.topic}), append(n.lastEnds, 0)
	}
	n.forgotten = append(n.forgotten, k.partition)
	n.lastEnds[len(n.lastEnds)-1] = len(n.forgotten)
}

// cut gives each topic its part of the lists, which do not move any more.
func (n *names) cut(q *wire.FetchRequest) {
	start := 0
	for i, end := range n.ends {
		q.Topics[i].Partitions = n.ranges[start:end]
		start = end
	}
	start = 0
	for i, end := range n.lastEnds {
		q.Forgotten[i].Partitions = n.forgotten[start:end]
		start = end
	}
}
