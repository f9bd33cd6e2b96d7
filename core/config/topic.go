package config

import "github.com/mortisemq/mortise/core/record"

// Topic is the effective configuration of a topic. It is immutable. Times are
// milliseconds, sizes bytes.
type Topic struct {
	CleanupDelete, CleanupCompact bool

	SegmentBytes       int64
	SegmentMS          int64
	SegmentJitterMS    int64
	SegmentIndexBytes  int64
	IndexIntervalBytes int64
	Preallocate        bool
	FileDeleteDelayMS  int64

	FlushMessages int64
	FlushMS       int64

	RetentionMS    int64 // -1: no limit
	RetentionBytes int64 // -1: no limit

	RetentionPlugins []string // that must all agree; nil: Kafka's rule. The caller must not change it.
	RetentionMinMS   int64    // no plugin deletes what is younger

	Partitioner      string // empty: Kafka's default
	PartitionerCheck PartitionerCheck

	MaxMessageBytes             int64
	MaxDecompressedMessageBytes int64

	Compression                    record.CompressionType
	GzipLevel, LZ4Level, ZstdLevel int

	TimestampType        record.TimestampType
	TimestampBeforeMaxMS int64
	TimestampAfterMaxMS  int64

	MinInsyncReplicas     int
	UncleanLeaderElection bool

	LeaderThrottled   Throttled // replicas that the leader sends to at a limited rate
	FollowerThrottled Throttled // replicas that fetch at a limited rate

	MinCompactionLagMS     int64
	MaxCompactionLagMS     int64
	DeleteRetentionMS      int64
	MinCleanableDirtyRatio float64
}

// PartitionerCheck is what happens to a batch with keys on the wrong partition.
type PartitionerCheck uint8

// The checks.
const (
	PartitionerOff    PartitionerCheck = iota // nobody looks
	PartitionerCount                          // they are counted
	PartitionerReject                         // they are refused
)

// partitionerCheck reads a value of mortise.partitioner.check.
func partitionerCheck(text string) PartitionerCheck {
	switch text {
	case "count":
		return PartitionerCount
	case "reject":
		return PartitionerReject
	}
	return PartitionerOff
}

// CompressionLevel is the level that goes with Compression.
func (t *Topic) CompressionLevel() int {
	switch t.Compression {
	case record.CompressGzip:
		return t.GzipLevel
	case record.CompressLZ4:
		return t.LZ4Level
	case record.CompressZstd:
		return t.ZstdLevel
	}
	return record.DefaultLevel
}

// newTopic puts effective values into their fields.
func newTopic(value func(name string) Value) *Topic {
	number := func(name string) int64 { return value(name).Int }
	t := &Topic{
		SegmentBytes:                number("segment.bytes"),
		SegmentMS:                   number("segment.ms"),
		SegmentJitterMS:             number("segment.jitter.ms"),
		SegmentIndexBytes:           number("segment.index.bytes"),
		IndexIntervalBytes:          number("index.interval.bytes"),
		Preallocate:                 value("preallocate").Bool,
		FileDeleteDelayMS:           number("file.delete.delay.ms"),
		FlushMessages:               number("flush.messages"),
		FlushMS:                     number("flush.ms"),
		RetentionMS:                 max(number("retention.ms"), -1),
		RetentionBytes:              max(number("retention.bytes"), -1),
		MaxMessageBytes:             number("max.message.bytes"),
		MaxDecompressedMessageBytes: number("max.decompressed.message.bytes"),
		GzipLevel:                   int(number("compression.gzip.level")),
		LZ4Level:                    int(number("compression.lz4.level")),
		ZstdLevel:                   int(number("compression.zstd.level")),
		TimestampBeforeMaxMS:        number("message.timestamp.before.max.ms"),
		TimestampAfterMaxMS:         number("message.timestamp.after.max.ms"),
		MinInsyncReplicas:           int(number("min.insync.replicas")),
		UncleanLeaderElection:       value("unclean.leader.election.enable").Bool,
		LeaderThrottled:             newThrottled(value("leader.replication.throttled.replicas")),
		FollowerThrottled:           newThrottled(value("follower.replication.throttled.replicas")),
		MinCompactionLagMS:          number("min.compaction.lag.ms"),
		MaxCompactionLagMS:          number("max.compaction.lag.ms"),
		DeleteRetentionMS:           number("delete.retention.ms"),
		MinCleanableDirtyRatio:      value("min.cleanable.dirty.ratio").Real,
		RetentionPlugins:            value("mortise.retention.plugin").List,
		RetentionMinMS:              number("mortise.retention.min.ms"),
		Partitioner:                 value("mortise.partitioner").Text,
		PartitionerCheck:            partitionerCheck(value("mortise.partitioner.check").Text),
	}
	for _, policy := range value("cleanup.policy").List {
		t.CleanupDelete = t.CleanupDelete || policy == "delete"
		t.CleanupCompact = t.CleanupCompact || policy == "compact"
	}
	// The checks let through only what these two know.
	t.Compression, _ = record.ParseCompressionType(value("compression.type").Text)
	t.TimestampType, _ = record.ParseTimestampType(value("message.timestamp.type").Text)
	if small := value("internal.segment.bytes").Int; small > 0 {
		t.SegmentBytes = small
	}
	return t
}
