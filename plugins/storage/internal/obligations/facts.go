package obligations

import (
	"fmt"
	"math/rand/v2"

	"github.com/mortisemq/mortise/sdk/storage"
)

// Now is the time of drawn facts, in milliseconds. No timestamp is later: a record
// from the future makes a segment older first and younger when its time comes, so no
// rule of time is monotone with it.
const Now = 1_000_000

// groups are those that may have committed something.
var groups = []string{"billing", "audit", "other"}

// Draw makes a question about a few logs of a few topics, the same from the same r.
func Draw(r *rand.Rand) []storage.LogFacts {
	logs := make([]storage.LogFacts, r.IntN(8))
	for i := range logs {
		logs[i] = log(r, fmt.Sprintf("topic-%d", i/2), int32(i%2))
	}
	return logs
}

func log(r *rand.Rand, topic string, partition int32) storage.LogFacts {
	l := storage.LogFacts{
		Topic: topic, Partition: partition, LeaderEpoch: r.Int32N(5), NowMS: Now,
		RetentionMS: limit(r, Now), RetentionBytes: limit(r, 3000),
	}
	offset, at := r.Int64N(100), r.Int64N(Now)
	l.LogStart = offset
	segments := r.IntN(8)
	for i := range segments {
		s := storage.SegmentFacts{BaseOffset: offset, Bytes: r.Int64N(1000), Active: i == segments-1}
		offset += 1 + r.Int64N(20)
		at = min(Now, at+r.Int64N(Now/6)-Now/40) // not always in order
		s.NextOffset, s.MaxTimestampMS, s.ModifiedMS = offset, max(at, -1), max(at, 0)
		if s.Active && r.IntN(4) == 0 {
			s.Bytes, s.NextOffset = 0, s.BaseOffset
		}
		l.Segments = append(l.Segments, s)
	}
	l.HighWatermark = offset - r.Int64N(1+min(offset, 10))
	l.LastStable = l.HighWatermark - r.Int64N(1+min(l.HighWatermark, 10))
	for _, g := range groups {
		if r.IntN(5) > 0 {
			l.Committed = append(l.Committed, storage.GroupOffset{Group: g, Offset: r.Int64N(offset + 5)})
		}
	}
	return l
}

// limit is none, or one below most.
func limit(r *rand.Rand, most int64) int64 {
	if r.IntN(3) == 0 {
		return storage.Unlimited
	}
	return r.Int64N(most)
}
