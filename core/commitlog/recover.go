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
	point := max(o.RecoveryPoint, 0)
	first := find(list, point)
	total := int64(0)
	for _, s := range list[first:] {
		total += s.Size()
	}
	done := int64(0)
	for i := first; i < len(list); i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := list[i]
		size := s.Size()
		progress := func(n int64) {
			if o.Progress != nil {
				o.Progress(done+n, total)
			}
		}
		if i > first && list[i-1].Next() > s.Base() {
			return nil, fmt.Errorf("%w: %s begins before offset %d, where the segment before it ends", ErrCorrupt, s.Path(segment.Log), list[i-1].Next())
		}
		r, err := s.Recover(point, l.visitRecovered, progress)
		if err != nil {
			return nil, err
		}
		read[s] = true
		l.metrics.recoveredBytes.Add(uint64(r.Bytes))
		if r.Torn != nil {
			if list, err = l.cutTorn(o, list, i, size, r); err != nil {
				return nil, err
			}
		}
		if err := s.SaveIndexes(i+1 < len(list)); err != nil {
			return nil, err
		}
		s.CloseFile()
		if i+1 < len(list) {
			s.SetNext(list[i+1].Base())
		}
		done += size
		progress(0)
	}
	return list, nil
}

// cutTorn drops what follows the last good batch of segment i, and the segments
// after it; or refuses when that was on the disk already.
func (l *Log) cutTorn(o *Options, list []*segment.Segment, i int, size int64, r segment.Recovered) ([]*segment.Segment, error) {
	s := list[i]
	if o.RecoveryPoint != kafka.NoOffset && r.Next < o.RecoveryPoint {
		return nil, fmt.Errorf("offset %d is below the recovery point %d, so it was on the disk: %w", r.Next, o.RecoveryPoint, r.Torn)
	}
	l.metrics.tornBytes.Add(uint64(size - r.Bytes))
	l.log.Warn("cutting off what a crash left unfinished", "partition", l.tp.String(), "end", int64(r.Next),
		"bytes", size-r.Bytes, "later_segments", len(list)-i-1, "found", r.Torn)
	if err := s.CutTorn(); err != nil {
		return nil, err
	}
	for _, later := range list[i+1:] {
		l.metrics.tornBytes.Add(uint64(later.Size()))
		if err := later.MarkDeleted(); err != nil {
			return nil, err
		}
		l.removeSegment(later, 0)
	}
	return list[: i+1 : i+1], nil
}

// visitRecovered takes the epochs of a batch that was read by recovery.
func (l *Log) visitRecovered(b record.Batch) error {
	l.noteEpoch(b)
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
