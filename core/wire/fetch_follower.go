package wire

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// FollowerVersion is the version of Fetch that followers speak: topic ids (KIP-516),
// the broker epoch of the follower (KIP-903), diverging epochs (KIP-595).
const FollowerVersion int16 = 17

// AppendFetch appends the body of a follower's Fetch request in FollowerVersion: the
// client's half of DecodeFetch. What that version does not have is left out.
//
// Hot: per fetch of a follower. 0 allocs once b has grown.
func AppendFetch(b []byte, f *FetchRequest) []byte {
	b = appendInt32(b, f.MaxWaitMS)
	b = appendInt32(b, f.MinBytes)
	b = appendInt32(b, f.MaxBytes)
	b = append(b, byte(f.IsolationLevel))
	b = appendInt32(b, f.SessionID)
	b = appendInt32(b, f.SessionEpoch)
	b = appendArrayLen(b, len(f.Topics), true)
	for i := range f.Topics {
		t := &f.Topics[i]
		b = append(b, t.ID[:]...)
		b = appendArrayLen(b, len(t.Partitions), true)
		for j := range t.Partitions {
			b = appendFetchRange(b, &t.Partitions[j])
		}
		b = append(b, 0)
	}
	b = appendArrayLen(b, len(f.Forgotten), true)
	for i := range f.Forgotten {
		t := &f.Forgotten[i]
		b = append(b, t.ID[:]...)
		b = appendArrayLen(b, len(t.Partitions), true)
		for _, n := range t.Partitions {
			b = appendInt32(b, n)
		}
		b = append(b, 0)
	}
	b = appendString(b, f.Rack, true)
	b = append(b, 1, 1, 13) // one tag: ReplicaState, 13 bytes
	b = appendInt32(b, int32(f.ReplicaID))
	return append(appendInt64(b, f.ReplicaEpoch), 0)
}

// appendFetchRange appends what is wanted of one partition.
func appendFetchRange(b []byte, p *FetchRange) []byte {
	b = appendInt32(b, p.Index)
	b = appendInt32(b, int32(p.CurrentLeaderEpoch))
	b = appendInt64(b, int64(p.FetchOffset))
	b = appendInt32(b, int32(p.LastFetchedEpoch))
	b = appendInt64(b, int64(p.LogStartOffset))
	return append(appendInt32(b, p.MaxBytes), 0)
}

// FetchAnswer reads a Fetch response in FollowerVersion, one partition at a time:
// OpenFetch, then Next until it is false, then Malformed. Records are parts of the frame:
// nothing is copied, nothing is allocated.
type FetchAnswer struct {
	CorrelationID int32
	ThrottleMS    int32
	Err           kafka.ErrorCode // of the whole request
	SessionID     int32           // 0: no session

	c          cursor
	size       int
	topics     int // to come
	partitions int // of this topic, to come
	inTopic    bool
	ended      bool
	topic      kafka.TopicID
}

// FetchedPartition is one partition of a FetchAnswer.
type FetchedPartition struct {
	Topic         kafka.TopicID
	Index         int32
	Err           kafka.ErrorCode
	HighWatermark kafka.Offset
	LogStart      kafka.Offset
	Records       []byte         // part of the frame; may end within a batch
	Diverging     DivergingEpoch // Epoch is NoLeaderEpoch when there is none
	Leader        CurrentLeader  // ID is NoBroker when it is not told
}

// OpenFetch reads the head of a response: a frame without its length. The error
// wraps ErrMalformed.
func OpenFetch(frame []byte) (FetchAnswer, error) {
	c := cursor{b: frame}
	a := FetchAnswer{size: len(frame)}
	a.CorrelationID = c.int32()
	c.tags()
	a.ThrottleMS = c.int32()
	a.Err = kafka.ErrorCode(c.int16())
	a.SessionID = c.int32()
	a.topics = c.array(true, answerTopicMin)
	a.c = c
	return a, a.Malformed()
}

// The least that a topic and a partition of a response take.
const (
	answerTopicMin     = 16 + 1 + 1
	answerPartitionMin = 4 + 2 + 3*8 + 1 + 4 + 1 + 1
)

// Next reads the next partition into p; false: there is none, or the response is
// malformed.
func (a *FetchAnswer) Next(p *FetchedPartition) bool {
	for a.partitions == 0 && !a.c.bad {
		if a.inTopic {
			a.c.tags()
			a.inTopic = false
		}
		if a.topics == 0 || a.c.bad {
			a.end()
			return false
		}
		a.topics--
		a.topic = a.c.uuid()
		a.partitions = a.c.array(true, answerPartitionMin)
		a.inTopic = true
	}
	if a.c.bad {
		return false
	}
	a.partitions--
	a.read(p)
	return !a.c.bad
}

// end reads what follows the topics, once: the addresses of leaders, which a follower
// has from the cluster.
func (a *FetchAnswer) end() {
	if !a.ended {
		a.c.tags()
		a.ended = true
	}
}

// read reads one partition.
func (a *FetchAnswer) read(p *FetchedPartition) {
	c := &a.c
	*p = FetchedPartition{
		Topic: a.topic, Index: c.int32(), Err: kafka.ErrorCode(c.int16()), HighWatermark: kafka.Offset(c.int64()),
		Diverging: DivergingEpoch{Epoch: kafka.NoLeaderEpoch, EndOffset: kafka.NoOffset},
		Leader:    CurrentLeader{ID: kafka.NoBroker, Epoch: kafka.NoLeaderEpoch},
	}
	c.int64() // last stable offset: a follower finds its own
	p.LogStart = kafka.Offset(c.int64())
	for n := c.nullableArray(8 + 8 + 1); n > 0 && !c.bad; n-- { // aborted transactions: likewise
		c.span(16)
		c.tags()
	}
	c.int32() // preferred read replica
	p.Records = c.nullableBytes(true)
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		tag := c.uvarint()
		v := cursor{b: c.span(int(c.uvarint()))}
		switch tag {
		case 0:
			p.Diverging.Epoch, p.Diverging.EndOffset = kafka.LeaderEpoch(v.int32()), kafka.Offset(v.int64())
			v.tags()
		case 1:
			p.Leader.ID, p.Leader.Epoch = kafka.BrokerID(v.int32()), kafka.LeaderEpoch(v.int32())
			v.tags()
		}
		c.bad = c.bad || v.bad
	}
}

// Malformed says what is wrong with the response so far; nil: nothing. The error
// wraps ErrMalformed.
func (a *FetchAnswer) Malformed() error {
	if a.c.bad {
		return fmt.Errorf("fetch response version %d, frame of %d bytes: %w", FollowerVersion, a.size, ErrMalformed)
	}
	return nil
}
