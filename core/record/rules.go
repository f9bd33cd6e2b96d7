package record

import "github.com/mortisemq/mortise/core/kafka"

// Rules say what Validate checks a batch against: the topic's configuration and
// what belongs to the one request. Callers keep one per partition and change the
// last three fields per call. It must not change during Validate.
type Rules struct {
	TP kafka.TopicPartition // for error texts

	MaxBytes       int // max.message.bytes, of the whole batch
	MaxRecordBytes int // max.decompressed.message.bytes, per record of a compressed batch; 0: no limit
	SegmentBytes   int // segment.bytes; 0: no limit

	Compression CompressionType // compression.type
	Level       int             // compression.<codec>.level of Compression, or DefaultLevel

	TimestampType TimestampType // message.timestamp.type
	BeforeMaxMS   int64         // message.timestamp.before.max.ms
	AfterMaxMS    int64         // message.timestamp.after.max.ms

	Compacted bool // cleanup.policy has compact: every record needs a key

	Limits DecompressLimits

	// AllowControl lets the broker's own coordinators write control batches. It
	// also lifts the rules for a client's offsets and sequences.
	AllowControl   bool
	ProduceVersion int16 // version of the Produce request
	NowMS          int64 // the append time
}

// Reason says why Validate gave other bytes than it got.
type Reason uint8

// The reasons, the most expensive last.
const (
	Unchanged     Reason = iota
	MaxTimestamp         // the header's maximum was not the records' (in place)
	AppendTime           // the topic's timestamps are the broker's (in place)
	Recompression        // compression.type differs from the producer's codec (rebuilt)
)

// String is a metric label.
func (r Reason) String() string {
	switch r {
	case MaxTimestamp:
		return "max_timestamp"
	case AppendTime:
		return "append_time"
	case Recompression:
		return "recompression"
	}
	return "unchanged"
}

// Validated is a batch that may be appended.
type Validated struct {
	// Batch is the batch that was given, maybe with a changed header, or a new one.
	Batch Batch
	// Rewritten tells that Batch is new memory. Count it by Reason.
	Rewritten bool
	Reason    Reason
	// MaxTimestamp is the batch's largest timestamp in ms, NoTimestamp if no record
	// has one.
	MaxTimestamp int64
	// OffsetOfMaxTimestamp is the first record with MaxTimestamp, relative to the
	// base offset; NoOffsetDelta if there is none.
	OffsetOfMaxTimestamp int32
	// LogAppendTimeMS goes into the Produce response: NoTimestamp for CreateTime.
	LogAppendTimeMS int64
	// Records is the number of records.
	Records int32
}
