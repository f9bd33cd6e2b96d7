package compaction

import (
	"math"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// candidate is a log that can be compacted, and how dirty it is.
type candidate struct {
	p        *partition.Partition
	dirty    kafka.Offset // first offset that no pass has put into its map
	upper    kafka.Offset // first offset that must stay as it is
	clean    int64        // bytes below dirty
	bytes    int64        // bytes from dirty to upper
	overdue  bool         // max.compaction.lag.ms has passed
	ratioMin float64
}

// ratio is the share of bytes that were not compacted yet.
func (c *candidate) ratio() float64 { return float64(c.bytes) / float64(c.clean+c.bytes) }

// due tells whether it is worth, or time for, a pass.
func (c *candidate) due() bool { return c.bytes > 0 && (c.overdue || c.ratio() > c.ratioMin) }

// facts are what the bounds of a pass depend on.
type facts struct {
	start, end kafka.Offset
	stable     kafka.Offset // last stable offset
	segments   []commitlog.SegmentInfo
	// earliest tells when the oldest sealed segment that ends behind an offset began.
	earliest func(kafka.Offset) (ms int64, ok bool, err error)
}

// examine finds the bounds of a pass by Kafka's rules (cleanableOffsets). checkpoint
// is NoOffset when the log was never compacted. reset: the checkpoint can't be true.
func examine(f *facts, t *config.Topic, checkpoint kafka.Offset, nowMS int64) (c candidate, reset bool, err error) {
	c.dirty, c.ratioMin = checkpoint, t.MinCleanableDirtyRatio
	if checkpoint < f.start || checkpoint > f.end {
		c.dirty, reset = f.start, checkpoint != kafka.NoOffset
	}
	active := f.segments[len(f.segments)-1]
	c.upper = min(f.stable, active.Base)
	for _, s := range f.segments[:len(f.segments)-1] {
		if s.Next <= c.dirty {
			continue
		}
		if t.MinCompactionLagMS > 0 && s.MaxTimestamp > nowMS-t.MinCompactionLagMS {
			c.upper = min(c.upper, s.Base)
			break
		}
	}
	c.upper = max(c.upper, c.dirty)
	if t.MaxCompactionLagMS < math.MaxInt64 {
		oldest, ok, err := f.earliest(c.dirty)
		if err != nil {
			return c, reset, err
		}
		c.overdue = ok && oldest < nowMS-t.MaxCompactionLagMS
	}
	for _, s := range f.segments[:len(f.segments)-1] {
		switch {
		case s.Next <= c.dirty:
			c.clean += s.Bytes
		case s.Base < c.upper:
			c.bytes += s.Bytes
		}
	}
	return c, reset, nil
}
