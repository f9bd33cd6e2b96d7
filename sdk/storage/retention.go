package storage

import (
	"context"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// Retention decides which of the oldest segments of logs may be deleted. See the
// package's obligations.
type Retention interface {
	// Decide answers for the logs in the question. An error means: keep all.
	Decide(ctx context.Context, logs []LogFacts) ([]Verdict, error)
}

// FeatureCommitted asks for LogFacts.Committed: it costs each broker a look at all of its
// groups, and the one that asks a call to each other.
const FeatureCommitted = "committed"

// FeatureTopics asks for LogFacts.Topics: the rule weighs topics against each other,
// and there may be more logs than one question holds.
const FeatureTopics = "topics"

// Bounds of one question.
const (
	MaxLogs     = 1000
	MaxSegments = 2000 // in all logs of a question
	MaxTopics   = 50_000
	// MaxReasonBytes bounds Verdict.Reason; what is longer is cut.
	MaxReasonBytes = 1024
)

// Plugin makes a plugin of p, whose New is replaced by make.
func Plugin(p plugin.Plugin, make func(context.Context, plugin.Config) (Retention, error)) plugin.Plugin {
	p.Kind, p.New = plugin.Retention, plugin.Typed(make)
	return p
}

// Unlimited is the value of RetentionMS and RetentionBytes without a limit.
const Unlimited = -1

// LogFacts is what a Retention may know about one partition's log.
type LogFacts struct {
	Topic       string
	Partition   int32
	LeaderEpoch int32
	NowMS       int64 // the broker's wall clock, milliseconds since 1970

	LogStart      int64 // first offset that clients may read
	HighWatermark int64 // exclusive end of what is committed
	LastStable    int64 // exclusive end of what no open transaction touches

	RetentionMS    int64             // the topic's retention.ms; Unlimited: no limit
	RetentionBytes int64             // the topic's retention.bytes; Unlimited: no limit
	Config         map[string]string // configs set on the topic itself; may be nil

	Segments []SegmentFacts // oldest first; only the last may be active

	DiskFree, DiskTotal uint64 // bytes of the file system that holds the log; 0: not known

	// Topics are all topics that the instance is asked about in this round, in
	// whatever question; only with FeatureTopics, else nil. The slice is the same in
	// every log of a question.
	Topics []TopicBytes

	// Committed are offsets that consumer groups of the cluster committed for this
	// partition, by group; only with FeatureCommitted, else nil. A group without an
	// entry has committed nothing: while the groups of some broker are not known, Decide
	// is not asked.
	Committed []GroupOffset
}

// TopicBytes is how many bytes the logs of one topic have in a round.
type TopicBytes struct {
	Topic string
	Bytes int64
}

// GroupOffset is what one group has committed for a partition.
type GroupOffset struct {
	Group  string
	Offset int64 // the next that it reads
}

// SegmentFacts describes one segment.
type SegmentFacts struct {
	BaseOffset     int64 // of the first record it may hold
	NextOffset     int64 // exclusive end: the next segment's base, or the log end
	Bytes          int64
	MaxTimestampMS int64 // the largest record timestamp; -1: none
	ModifiedMS     int64 // when the broker last wrote to it, by the broker's clock
	Active         bool  // still being written to
}

// Verdict says how many of the oldest segments of a log may go.
type Verdict struct {
	Topic        string
	Partition    int32
	LeaderEpoch  int32  // as asked; a verdict for another epoch is dropped
	DeleteOldest int    // whole segments, counted from the oldest; 0 keeps all
	Reason       string // for people, in the log line about the deletion
}
