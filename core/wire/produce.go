package wire

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// ProduceRequest is a decoded Produce request (key 0, versions 3–13). It is
// reused: DecodeProduce overwrites it. Names and records are parts of the body.
// Duplicate topics and partitions are kept as they came.
type ProduceRequest struct {
	TransactionalID []byte // nil: null
	Acks            int16
	TimeoutMS       int32
	Topics          []ProduceTopic

	partitions []ProducePartition // what Topics[i].Partitions are parts of
}

// ProduceTopic is one topic of a Produce request.
type ProduceTopic struct {
	Name       []byte        // nil from version 13 on
	ID         kafka.TopicID // from version 13 on
	Partitions []ProducePartition

	end int // of Partitions in ProduceRequest.partitions
}

// ProducePartition is what one partition of a Produce request gets.
type ProducePartition struct {
	Index   int32
	Records []byte // nil: null
}

// partitionsKept bounds the room that a reused decoder keeps, in partitions.
const partitionsKept = 4096

// Len is the number of partitions over all topics.
func (p *ProduceRequest) Len() int { return len(p.partitions) }

// reset empties p and keeps its room, unless a huge request made it huge.
func (p *ProduceRequest) reset() {
	if cap(p.partitions) > partitionsKept || cap(p.Topics) > partitionsKept {
		p.partitions, p.Topics = nil, nil
	}
	clear(p.Topics)
	clear(p.partitions)
	p.Topics, p.partitions = p.Topics[:0], p.partitions[:0]
}

// Reset lets go of the body that p refers to.
func (p *ProduceRequest) Reset() {
	p.reset()
	p.TransactionalID = nil
}

// DecodeProduce reads the body of a Produce request. Tags are skipped, bytes
// after the message ignored. The error wraps ErrMalformed.
// Hot: per produce request. 0 allocs once p has grown.
func DecodeProduce(p *ProduceRequest, version int16, body []byte) error {
	p.reset()
	flexible := version >= 9
	c := cursor{b: body}
	p.TransactionalID = c.nullableStr(flexible)
	p.Acks = c.int16()
	p.TimeoutMS = c.int32()
	topics := c.array(flexible, minTopic(version))
	for i := 0; i < topics && !c.bad; i++ {
		p.Topics = append(p.Topics, p.topic(&c, version, flexible))
	}
	if flexible {
		c.tags()
	}
	if c.bad {
		return fmt.Errorf("produce request version %d, body of %d bytes: %w", version, len(body), ErrMalformed)
	}
	start := 0
	for i := range p.Topics {
		t := &p.Topics[i]
		t.Partitions = p.partitions[start:t.end:t.end]
		start = t.end
	}
	return nil
}

// topic reads one topic.
func (p *ProduceRequest) topic(c *cursor, version int16, flexible bool) (t ProduceTopic) {
	if version >= 13 {
		t.ID = c.uuid()
	} else {
		t.Name = c.str(flexible)
	}
	n := c.array(flexible, 5)
	for i := 0; i < n && !c.bad; i++ {
		part := ProducePartition{Index: c.int32(), Records: c.nullableBytes(flexible)}
		if flexible {
			c.tags()
		}
		p.partitions = append(p.partitions, part)
	}
	if flexible {
		c.tags()
	}
	t.end = len(p.partitions)
	return t
}

// minTopic is the least that a topic takes in a Produce or Fetch request: an id
// or an empty name, and an empty array.
func minTopic(version int16) int {
	if version >= 13 {
		return 17
	}
	return 2
}
