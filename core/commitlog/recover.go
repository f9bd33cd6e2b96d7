package commitlog

import (
	"context"
	"fmt"

	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// recover checks the segments from the recovery point on and cuts off what does
// not hold, as Kafka's LogLoader does; but it never cuts below the recovery point.
// It returns the segments that stay, and marks those that it read.
func (l *Log) recover(ctx context.Context, o *Options, list []*segment.Segment, read map[*segment.Segment]bool) ([]*segment.Segment, error) {
	r := recovery{log: l, o: o, point: max(o.RecoveryPoint, 0), list: list, read: read, epoch: kafka.NoLeaderEpoch}
	first := find(list, r.point)
	for _, s := range list[first:] {
		r.total += s.Size()
	}
	for i := first; i < len(r.list); i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.segment(i); err != nil {
			return nil, err
		}
	}
	return r.list, nil
}

// recovery is the state of one recover.
type recovery struct {
	log         *Log
	o           *Options
	point       kafka.Offset
	list        []*segment.Segment
	read        map[*segment.Segment]bool
	epoch       kafka.LeaderEpoch // of the last good batch
	done, total int64
}

// segment recovers segment i. The list gets shorter when the log ends in it.
func (r *recovery) segment(i int) error {
	s, size := r.list[i], r.list[i].Size()
	found, err := s.Recover(r.point, r.visit, func(n int64) { r.progress(r.done + n) })
	if err != nil {
		return err
	}
	r.read[s] = true
	r.log.metrics.recoveredBytes.Add(uint64(found.Bytes))
	if found.Torn == nil {
		found.Torn = r.parted(i, found.Next)
	}
	if found.Torn != nil {
		if err := r.cut(i, size, found); err != nil {
			return err
		}
	}
	last := i+1 == len(r.list)
	if err := s.SaveIndexes(!last); err != nil {
		return err
	}
	s.CloseFile()
	if !last {
		s.SetNext(r.list[i+1].Base())
	}
	r.done += size
	r.progress(r.done)
	return nil
}

// parted tells why the segment after i, which ends at next, can't follow it. A log
// is written without gaps between segments; compaction makes some, but only where
// all is on the disk. So a gap beyond the recovery point is data that a power
// failure took, and an overlap is a deleted segment that came back. Without a
// recovery point, as in a folder that comes from another broker, gaps stay.
func (r *recovery) parted(i int, next kafka.Offset) error {
	if i+1 == len(r.list) {
		return nil
	}
	base := r.list[i+1].Base()
	unknown := r.o.RecoveryPoint == kafka.NoOffset && next < base
	if next == base || next < r.point || unknown || base-r.list[i].Base() > segment.OffsetsMax {
		return nil
	}
	return fmt.Errorf("%w: segment %d ends at offset %d, the one after it begins at %d", ErrCorrupt, r.list[i].Base(), next, base)
}

func (r *recovery) progress(n int64) {
	if r.o.Progress != nil {
		r.o.Progress(n, r.total)
	}
}

// cut drops what follows the last good batch of segment i, and the segments after
// it; or refuses when that was on the disk already.
func (r *recovery) cut(i int, size int64, found segment.Recovered) error {
	l, s := r.log, r.list[i]
	if found.Next < r.point && r.point > r.o.StartOffset { // below the log start it is no loss
		return fmt.Errorf("offset %d is below the recovery point %d, so it was on the disk: %w", found.Next, r.point, found.Torn)
	}
	l.metrics.tornBytes.Add(uint64(size - found.Bytes))
	l.log.Warn("cutting off what a crash left unfinished", "partition", l.tp.String(), "end", int64(found.Next),
		"bytes", size-found.Bytes, "later_segments", len(r.list)-i-1, "found", found.Torn)
	if found.Bytes < size {
		if err := s.CutTorn(); err != nil {
			return err
		}
	}
	for _, later := range r.list[i+1:] {
		l.metrics.tornBytes.Add(uint64(later.Size()))
		if err := later.MarkDeleted(); err != nil {
			return err
		}
		l.removeSegment(later, 0)
	}
	r.list = r.list[: i+1 : i+1]
	return nil
}

// visit takes the epoch of a batch that was read. Epochs that go back are batches
// of a segment that was truncated away.
func (r *recovery) visit(b record.Batch) error {
	if e := b.LeaderEpoch(); e >= 0 {
		if e < r.epoch {
			return fmt.Errorf("%w from %d to %d at offset %d", segment.ErrStop, r.epoch, e, b.BaseOffset())
		}
		r.epoch = e
		if r.log.epochs.of(b.BaseOffset()) != e { // the file is older or newer than the data
			r.log.epochs.truncateEnd(b.BaseOffset())
			r.log.epochs.assign(e, b.BaseOffset())
		}
	}
	return nil
}

// visitEpoch takes the epochs of a batch whose header was read.
func (l *Log) visitEpoch(head record.Batch, _ func() (record.Batch, error)) error {
	l.noteEpoch(head)
	return nil
}

func (l *Log) noteEpoch(b record.Batch) {
	if e := b.LeaderEpoch(); e > l.epochs.latest() {
		l.epochs.assign(e, b.BaseOffset())
	}
}
