package wire

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// FetchRequest is a decoded Fetch request (key 1, versions 4–18). It is reused:
// DecodeFetch overwrites it. Names are parts of the body.
type FetchRequest struct {
	ClusterID      []byte         // nil: null; tag 0 of version 12 on
	ReplicaID      kafka.BrokerID // NoBroker: a consumer. From ReplicaState in version 15 on
	ReplicaEpoch   int64          // -1: none
	MaxWaitMS      int32
	MinBytes       int32
	MaxBytes       int32
	IsolationLevel int8  // 1: read_committed
	SessionID      int32 // 0 below version 7
	SessionEpoch   int32 // -1 below version 7: no session
	Topics         []FetchTopic
	Forgotten      []ForgottenTopic
	Rack           []byte // nil below version 11

	partitions []FetchRange
	forgotten  []int32
}

// FetchTopic is one topic of a Fetch request.
type FetchTopic struct {
	Name       []byte        // nil from version 13 on
	ID         kafka.TopicID // from version 13 on
	Partitions []FetchRange

	end int
}

// FetchRange is what a Fetch request wants from one partition.
type FetchRange struct {
	Index              int32
	CurrentLeaderEpoch kafka.LeaderEpoch // NoLeaderEpoch: do not check
	FetchOffset        kafka.Offset
	LastFetchedEpoch   kafka.LeaderEpoch // NoLeaderEpoch: do not check
	LogStartOffset     kafka.Offset      // a follower's; NoOffset for consumers
	MaxBytes           int32
}

// ForgottenTopic is what a Fetch request takes out of its session.
type ForgottenTopic struct {
	Name       []byte
	ID         kafka.TopicID
	Partitions []int32

	end int
}

// Len is the number of partitions over all topics.
func (f *FetchRequest) Len() int { return len(f.partitions) }

// Reset lets go of the body that f refers to and keeps its room, unless a huge
// request made it huge.
func (f *FetchRequest) Reset() {
	topics, partitions := f.Topics, f.partitions
	lost, forgotten := f.Forgotten, f.forgotten
	*f = FetchRequest{ReplicaID: kafka.NoBroker, ReplicaEpoch: -1, SessionEpoch: -1}
	if cap(topics) > partitionsKept || cap(partitions) > partitionsKept || cap(lost) > partitionsKept || cap(forgotten) > partitionsKept {
		return
	}
	clear(topics)
	clear(lost)
	f.Topics, f.partitions = topics[:0], partitions[:0]
	f.Forgotten, f.forgotten = lost[:0], forgotten[:0]
}

// DecodeFetch reads the body of a Fetch request. Unknown tags, and those that
// only KRaft's followers set, are skipped; bytes after the message are ignored.
// The error wraps ErrMalformed. Hot: per fetch request. 0 allocs once f has grown.
func DecodeFetch(f *FetchRequest, version int16, body []byte) error {
	f.Reset()
	flexible := version >= 12
	c := cursor{b: body}
	if version <= 14 {
		f.ReplicaID = kafka.BrokerID(c.int32())
	}
	f.MaxWaitMS, f.MinBytes, f.MaxBytes = c.int32(), c.int32(), c.int32()
	f.IsolationLevel = c.int8()
	if version >= 7 {
		f.SessionID, f.SessionEpoch = c.int32(), c.int32()
	}
	f.readTopics(&c, version, flexible)
	if version >= 7 {
		f.readForgotten(&c, version, flexible)
	}
	if version >= 11 {
		f.Rack = c.str(flexible)
	}
	if flexible {
		f.readTags(&c)
	}
	if c.bad {
		return fmt.Errorf("fetch request version %d, body of %d bytes: %w", version, len(body), ErrMalformed)
	}
	f.cut()
	return nil
}

func (f *FetchRequest) readTopics(c *cursor, version int16, flexible bool) {
	n := c.array(flexible, minTopic(version))
	for i := 0; i < n && !c.bad; i++ {
		var t FetchTopic
		if version >= 13 {
			t.ID = c.uuid()
		} else {
			t.Name = c.str(flexible)
		}
		for parts := c.array(flexible, 16); parts > 0 && !c.bad; parts-- {
			f.partitions = append(f.partitions, readFetchRange(c, version, flexible))
		}
		if flexible {
			c.tags()
		}
		t.end = len(f.partitions)
		f.Topics = append(f.Topics, t)
	}
}

func readFetchRange(c *cursor, version int16, flexible bool) FetchRange {
	p := FetchRange{
		Index:              c.int32(),
		CurrentLeaderEpoch: kafka.NoLeaderEpoch,
		LastFetchedEpoch:   kafka.NoLeaderEpoch,
		LogStartOffset:     kafka.NoOffset,
	}
	if version >= 9 {
		p.CurrentLeaderEpoch = kafka.LeaderEpoch(c.int32())
	}
	p.FetchOffset = kafka.Offset(c.int64())
	if version >= 12 {
		p.LastFetchedEpoch = kafka.LeaderEpoch(c.int32())
	}
	if version >= 5 {
		p.LogStartOffset = kafka.Offset(c.int64())
	}
	p.MaxBytes = c.int32()
	if flexible {
		c.tags()
	}
	return p
}

func (f *FetchRequest) readForgotten(c *cursor, version int16, flexible bool) {
	n := c.array(flexible, minTopic(version))
	for i := 0; i < n && !c.bad; i++ {
		var t ForgottenTopic
		if version >= 13 {
			t.ID = c.uuid()
		} else {
			t.Name = c.str(flexible)
		}
		for parts := c.array(flexible, 4); parts > 0 && !c.bad; parts-- {
			f.forgotten = append(f.forgotten, c.int32())
		}
		if flexible {
			c.tags()
		}
		t.end = len(f.forgotten)
		f.Forgotten = append(f.Forgotten, t)
	}
}

// readTags reads the tags of the body: 0 ClusterId, 1 ReplicaState.
func (f *FetchRequest) readTags(c *cursor) {
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		tag := c.uvarint()
		v := cursor{b: c.span(int(c.uvarint()))}
		switch tag {
		case 0:
			f.ClusterID = v.nullableStr(true)
		case 1:
			f.ReplicaID = kafka.BrokerID(v.int32())
			f.ReplicaEpoch = v.int64()
			v.tags()
		}
		c.bad = c.bad || v.bad
	}
}

// cut gives each topic its part of the flat lists, which do not move any more.
func (f *FetchRequest) cut() {
	start := 0
	for i := range f.Topics {
		t := &f.Topics[i]
		t.Partitions = f.partitions[start:t.end:t.end]
		start = t.end
	}
	start = 0
	for i := range f.Forgotten {
		t := &f.Forgotten[i]
		t.Partitions = f.forgotten[start:t.end:t.end]
		start = t.end
	}
}
