package tool

import (
	"errors"
	"io"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// partitionState is what a segment hands to the next one.
type partitionState struct {
	next   kafka.Offset // the offset that should come now; NoOffset before the first
	epoch  kafka.LeaderEpoch
	epochs []epochEntry
	// epochFile is the checkpoint's name, empty if there is none.
	epochFile string
}

// segmentCheck verifies one log and, in step with it, its indexes.
type segmentCheck struct {
	*verifier
	*partitionState
	name  string
	base  kafka.Offset
	index *indexCheck
	times *timeCheck
}

// segment verifies a log file and its two indexes in one pass.
func (v *verifier) segment(name string, p *partitionState) (err error) {
	_, base := fileKind(name)
	s, err := openLog(v.fsys, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c := &segmentCheck{verifier: v, partitionState: p, name: name, base: base}
	if c.index, err = v.openIndex(name, base, s.size); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.index.close()) }()
	if c.times, err = v.openTimes(name, base, s.size); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.times.close()) }()
	v.report.Files++
	v.report.Bytes += s.size
	c.start()
	if err := c.walk(s); err != nil {
		return err
	}
	if err := c.index.finish(); err != nil {
		return err
	}
	return c.times.finish()
}

// start compares the file's name with where the segment before it ended.
func (c *segmentCheck) start() {
	switch {
	case c.next == kafka.NoOffset:
	case c.base < c.next:
		c.find(Damage, c.name, NoPosition, c.base, "segment starts before offset %d, where the one before it ends", c.next)
	case c.base > c.next:
		c.find(Note, c.name, NoPosition, c.base, "offsets %d to %d are missing before the segment; compaction leaves such gaps",
			c.next, c.base-1)
	}
	c.next = c.base
}

func (c *segmentCheck) walk(s *scanner) error {
	reported := int64(0)
	for {
		b, at, err := s.next()
		switch {
		case err == io.EOF:
			c.progress(s.size - reported)
			return nil
		case errors.Is(err, errZeros):
			c.find(Note, c.name, at, c.next, "%d bytes of zeros at the end: preallocated space", s.left())
			c.progress(s.size - reported)
			return nil
		case errors.Is(err, record.ErrShort) || errors.Is(err, record.ErrCorrupt):
			c.find(Damage, c.name, at, c.next, "%v; %d bytes from here are not readable", err, s.left())
			c.progress(s.size - reported)
			return nil
		case err != nil:
			return err
		}
		if err := c.batch(b, at); err != nil {
			return err
		}
		if s.pos-reported >= readBlock {
			c.progress(s.pos - reported)
			reported = s.pos
			if err := c.ctx.Err(); err != nil {
				return err
			}
		}
	}
}

func (c *segmentCheck) batch(b record.Batch, at int64) error {
	c.report.Batches++
	if err := b.CheckCRC(); err != nil {
		c.find(Damage, c.name, at, b.BaseOffset(), "%v", err)
		// The header may lie, so it is not compared with anything.
		return c.index.batch(at, kafka.NoOffset, kafka.NoOffset)
	}
	c.offsets(b, at)
	c.leaderEpoch(b, at)
	if !c.o.Shallow {
		c.records(b, at)
	}
	if err := c.index.batch(at, b.BaseOffset(), b.LastOffset()); err != nil {
		return err
	}
	return c.times.batch(b.LastOffset(), b.MaxTimestamp())
}

func (c *segmentCheck) offsets(b record.Batch, at int64) {
	base, last := b.BaseOffset(), b.LastOffset()
	switch {
	case b.LastOffsetDelta() < 0:
		c.find(Damage, c.name, at, base, "last offset %d is before the first", last)
		return
	case base < c.next:
		c.find(Damage, c.name, at, base, "offset goes back: %d was to come", c.next)
	case base > c.next:
		c.find(Note, c.name, at, base, "offsets %d to %d are missing; compaction leaves such gaps", c.next, base-1)
	}
	c.next = max(c.next, last+1)
}

// leaderEpoch compares a batch with the one before it and with the checkpoint.
func (c *segmentCheck) leaderEpoch(b record.Batch, at int64) {
	epoch := b.LeaderEpoch()
	if epoch < c.epoch {
		c.find(Damage, c.name, at, b.BaseOffset(), "leader epoch goes back from %d to %d", c.epoch, epoch)
	}
	c.epoch = max(c.epoch, epoch)
	if c.epochFile == "" || epoch == kafka.NoLeaderEpoch {
		return
	}
	if want := epochAt(c.epochs, b.BaseOffset()); want != epoch {
		c.find(Damage, c.name, at, b.BaseOffset(), "leader epoch is %d, %s says %d", epoch, epochFileName, want)
	}
}

// records walks the records: they lie within the batch's offsets and grow.
func (c *segmentCheck) records(b record.Batch, at int64) {
	it := b.Records(c.o.Limits)
	defer it.Close()
	before := b.BaseOffset() - 1
	newest := record.NoTimestamp
	for it.Next() {
		r := it.Record()
		c.report.Records++
		if r.Offset <= before || r.Offset > b.LastOffset() {
			// Kafka stores what a producer wrote there in an uncompressed batch.
			c.find(Note, c.name, at, r.Offset, "record offset is not between %d and %d: a mistake of its producer",
				before+1, b.LastOffset())
		}
		before = max(before, r.Offset)
		newest = max(newest, r.Timestamp)
	}
	if err := it.Err(); err != nil {
		c.find(Damage, c.name, at, b.BaseOffset(), "%v", err)
		return
	}
	if newest > b.MaxTimestamp() {
		c.find(Damage, c.name, at, b.BaseOffset(), "record has timestamp %d, later than the batch's %d", newest, b.MaxTimestamp())
	}
}
