package storage

import "context"

// Retention decides which of the oldest segments of logs may be deleted. See the
// package's obligations.
type Retention interface {
	// Decide answers for the logs in the question. An error means: keep all.
	Decide(ctx context.Context, logs []LogFacts) ([]Verdict, error)
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
