package storage

// Deletable counts the oldest segments that may go at all: those below the high
// watermark and the last stable offset. An empty active segment never counts.
func (l *LogFacts) Deletable() int {
	limit := min(l.HighWatermark, l.LastStable)
	for n, s := range l.Segments {
		if s.NextOffset > limit || s.Active && s.Bytes == 0 {
			return n
		}
	}
	return len(l.Segments)
}

// Bytes are those of all segments.
func (l *LogFacts) Bytes() int64 {
	var total int64
	for _, s := range l.Segments {
		total += s.Bytes
	}
	return total
}

// While counts the oldest deletable segments that goes accepts, one after the other:
// left is how many bytes the log holds without that segment and all before it. A rule
// that judges each segment so asks for nothing more once its verdict is executed.
func (l *LogFacts) While(goes func(s *SegmentFacts, left int64) bool) int {
	left, deletable := l.Bytes(), l.Deletable()
	for n := range deletable {
		left -= l.Segments[n].Bytes
		if !goes(&l.Segments[n], left) {
			return n
		}
	}
	return deletable
}

// AgeMS is how old a segment is. Its age counts from its largest record timestamp, as
// in Kafka. When that is none or in the future it counts from the time at which the
// broker last wrote to the segment: a single record dated far in the future would
// otherwise keep a whole log for ever.
func (l *LogFacts) AgeMS(s *SegmentFacts) int64 {
	if s.MaxTimestampMS < 0 || s.MaxTimestampMS > l.NowMS {
		return l.NowMS - s.ModifiedMS
	}
	return l.NowMS - s.MaxTimestampMS
}

// Verdict deletes the n oldest segments of this log.
func (l *LogFacts) Verdict(n int, reason string) Verdict {
	return Verdict{Topic: l.Topic, Partition: l.Partition, LeaderEpoch: l.LeaderEpoch, DeleteOldest: n, Reason: reason}
}
