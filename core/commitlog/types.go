package commitlog

import (
	"time"

	"github.com/mortisemq/mortise/core/internal/producerstate"
	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
)

// Origin says who sent a batch.
type Origin uint8

const (
	// OriginClient batches are checked against the producer's state.
	OriginClient Origin = iota
	// OriginReplication batches keep their offsets and epochs: the leader checked
	// them. They must start at or after EndOffset.
	OriginReplication
	// OriginCoordinator batches (markers, offsets) are the broker's own.
	OriginCoordinator
)

// AppendInfo is what Append is told beside the batch.
type AppendInfo struct {
	// MaxTimestamp of the batch in ms, and the delta of the record that has it.
	MaxTimestamp         int64
	OffsetOfMaxTimestamp int32
	// LogAppendTimeMS is the append time for LogAppendTime, -1 for CreateTime.
	LogAppendTimeMS int64
	// NowMS is the wall clock, for producer expiry and rolling.
	NowMS  int64
	Origin Origin
}

// Appended is the place that a batch got.
type Appended struct {
	Base, Last kafka.Offset
	// Duplicate: the batch is in the log since an earlier append; Base, Last and
	// AppendTimeMS are that append's.
	Duplicate bool
	// AppendTimeMS is the batch's append time; -1 for CreateTime.
	AppendTimeMS int64
	StartOffset  kafka.Offset
}

// ReadOptions bound a Read.
type ReadOptions struct {
	// MaxBytes is the most that is returned.
	MaxBytes int
	// Upper is the offset to stop before: high watermark, last stable offset or
	// log end.
	Upper kafka.Offset
	// MinOne returns the first batch even when it is larger than MaxBytes.
	MinOne bool
}

// Slice is what Read found: whole batches from the one that holds the offset.
type Slice struct {
	// Range is nil when there is nothing to return. The caller releases it.
	Range *Range
	// Next is where to read on: the offset after the last batch, or a later one if
	// there is a gap behind it. It is the offset asked for when Range is nil.
	Next kafka.Offset
	// FirstTooLarge: the first batch is larger than MaxBytes and was left out.
	FirstTooLarge bool
}

// TimeOffset is the place of a timestamp.
type TimeOffset struct {
	Offset    kafka.Offset
	Timestamp int64
	Epoch     kafka.LeaderEpoch
}

// SegmentInfo is what retention needs to know of a segment.
type SegmentInfo struct {
	Base, Next kafka.Offset // Next is exclusive
	Bytes      int64
	// MaxTimestamp is the largest record timestamp in ms, -1 when there is none.
	// It is the client's word: LastModified is the broker's.
	MaxTimestamp          int64
	Created, LastModified time.Time
	Active                bool
}

// Aborted is one aborted transaction of a fetch.
type Aborted = segment.Aborted

// ProducerInfo is one producer of the log.
type ProducerInfo = producerstate.Info
