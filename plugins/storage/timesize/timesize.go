package timesize

import (
	"context"
	"fmt"

	"github.com/mortisemq/mortise/sdk/storage"
)

// Retention is Kafka's rule of time and size. The zero value is ready.
type Retention struct{}

// Decide implements storage.Retention.
func (Retention) Decide(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	var verdicts []storage.Verdict
	for i := range logs {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("retention by time and size: %w", err)
		}
		l := &logs[i]
		deletable := deletablePrefix(l)
		byTime, bySize := expired(l, deletable), oversized(l, deletable)
		n, reason := byTime, "retention.ms"
		if bySize > byTime {
			n, reason = bySize, "retention.bytes"
		}
		if n == 0 {
			continue
		}
		verdicts = append(verdicts, storage.Verdict{
			Topic: l.Topic, Partition: l.Partition, LeaderEpoch: l.LeaderEpoch,
			DeleteOldest: n, Reason: reason,
		})
	}
	return verdicts, nil
}

// deletablePrefix counts the oldest segments that lie below the high watermark
// and the last stable offset. An empty active segment never counts.
func deletablePrefix(l *storage.LogFacts) int {
	limit := min(l.HighWatermark, l.LastStable)
	for n, s := range l.Segments {
		if s.NextOffset > limit || s.Active && s.Bytes == 0 {
			return n
		}
	}
	return len(l.Segments)
}

// expired counts the oldest segments that are older than retention.ms. It stops
// at the first that is not.
func expired(l *storage.LogFacts, deletable int) int {
	if l.RetentionMS < 0 {
		return 0
	}
	for n, s := range l.Segments[:deletable] {
		if l.NowMS-age(&s, l.NowMS) <= l.RetentionMS {
			return n
		}
	}
	return deletable
}

// age is the time from which a segment's age counts.
func age(s *storage.SegmentFacts, nowMS int64) int64 {
	if s.MaxTimestampMS < 0 || s.MaxTimestampMS > nowMS {
		return s.ModifiedMS
	}
	return s.MaxTimestampMS
}

// oversized counts the oldest segments without which the log still holds at
// least retention.bytes.
func oversized(l *storage.LogFacts, deletable int) int {
	if l.RetentionBytes < 0 {
		return 0
	}
	var total int64
	for _, s := range l.Segments {
		total += s.Bytes
	}
	excess := total - l.RetentionBytes
	for n, s := range l.Segments[:deletable] {
		if excess -= s.Bytes; excess < 0 {
			return n
		}
	}
	return deletable
}

var _ storage.Retention = Retention{}
