package wire

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// FollowerOffsetsVersion is the version of ListOffsets that followers speak.
const FollowerOffsetsVersion int16 = 7

// FollowerOffsets is a follower's ListOffsets request: one timestamp, which may be a
// special one, for several partitions.
type FollowerOffsets struct {
	Replica    kafka.BrokerID
	Timestamp  int64
	Partitions []FollowerOffset
}

// FollowerOffset is one partition of FollowerOffsets, or of its answer.
type FollowerOffset struct {
	kafka.TopicPartition
	CurrentLeaderEpoch kafka.LeaderEpoch // of a request

	Err    kafka.ErrorCode // of an answer, like Offset
	Offset kafka.Offset
}

// AppendFollowerOffsets appends the body of q in FollowerOffsetsVersion.
func AppendFollowerOffsets(b []byte, q *FollowerOffsets) []byte {
	b = append(appendInt32(b, int32(q.Replica)), 0) // read_uncommitted
	b = appendArrayLen(b, len(q.Partitions), true)  // each alone in its topic
	for i := range q.Partitions {
		p := &q.Partitions[i]
		b = appendString(b, p.Topic, true)
		b = appendArrayLen(b, 1, true)
		b = appendInt32(b, p.Partition)
		b = appendInt32(b, int32(p.CurrentLeaderEpoch))
		b = append(appendInt64(b, q.Timestamp), 0, 0)
	}
	return append(b, 0)
}

// DecodeFollowerOffsets reads a ListOffsets response in FollowerOffsetsVersion: a
// frame without its length. The error wraps ErrMalformed.
func DecodeFollowerOffsets(frame []byte) (correlationID int32, all []FollowerOffset, err error) {
	c := cursor{b: frame}
	correlationID = c.int32()
	c.tags()
	c.int32() // throttle time
	for topics := c.array(true, 1+1+1); topics > 0 && !c.bad; topics-- {
		name := string(c.str(true))
		for n := c.array(true, 4+2+8+8+4+1); n > 0 && !c.bad; n-- {
			p := FollowerOffset{TopicPartition: kafka.TopicPartition{Topic: name, Partition: c.int32()}, Err: kafka.ErrorCode(c.int16())}
			c.int64() // timestamp
			p.Offset = kafka.Offset(c.int64())
			p.CurrentLeaderEpoch = kafka.LeaderEpoch(c.int32())
			c.tags()
			all = append(all, p)
		}
		c.tags()
	}
	c.tags()
	if c.bad {
		return 0, nil, fmt.Errorf("list offsets response version %d, frame of %d bytes: %w", FollowerOffsetsVersion, len(frame), ErrMalformed)
	}
	return correlationID, all, nil
}
