package commitlog

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
)

// Read finds whole batches from the one that holds offset from, up to
// ReadOptions.Upper and MaxBytes. Nothing there is no error. An offset below
// StartOffset or beyond EndOffset is ErrOffsetOutOfRange.
//
// Hot: per fetched partition. 0 allocs, no lock that appends hold across a write;
// at the tail no system call (room segment says when there are preads).
func (l *Log) Read(from kafka.Offset, o ReadOptions) (Slice, error) {
	s, _, err := l.read(from, o, false)
	return s, err
}

// ReadCommitted is Read with the aborted transactions that have data in the slice,
// in the order of their markers. Both are of the same segments: one that was deleted
// or compacted between the two would leave aborted data that nothing marks.
//
// Cost without aborted transactions: Read's, and a lock per segment of the range.
func (l *Log) ReadCommitted(from kafka.Offset, o ReadOptions) (Slice, []Aborted, error) {
	return l.read(from, o, true)
}

func (l *Log) read(from kafka.Offset, o ReadOptions, committed bool) (_ Slice, aborted []Aborted, _ error) {
	if err := l.usable(); err != nil {
		return Slice{}, nil, err
	}
	empty := Slice{Next: from}
	for {
		end := l.EndOffset()
		list := l.list()
		if start := l.StartOffset(); from < start || from > end {
			return Slice{}, nil, fmt.Errorf("%s: offset %d, the log has %d to %d: %w", l.tp, from, start, end, ErrOffsetOutOfRange)
		}
		upper := min(o.Upper, end)
		if from >= upper || o.MaxBytes <= 0 && !o.MinOne {
			return empty, nil, nil
		}
		found, err := readIn(list, from, upper, o)
		if committed && err == nil && found.Range != nil {
			if aborted, err = abortedIn(list, from, found.Next); err != nil {
				found.Range.Release()
			}
		}
		switch {
		case err == nil && found.Range == nil:
			empty.FirstTooLarge = found.TooLarge
			return empty, nil, nil
		case err == nil:
			return Slice{Range: found.Range, Next: found.Next, FirstTooLarge: found.TooLarge}, aborted, nil
		case errors.Is(err, segment.ErrDeleted): // look at the log as it is now
			if err := l.usable(); err != nil {
				return Slice{}, nil, err
			}
		default:
			return Slice{}, nil, l.storageError(err)
		}
	}
}

// readIn reads from the segment that holds from, or the next one with data.
func readIn(list []*segment.Segment, from, upper kafka.Offset, o ReadOptions) (segment.Found, error) {
	for _, s := range list[find(list, from):] {
		if s.Base() >= upper {
			break
		}
		if s.Size() == 0 || s.Next() <= from {
			continue
		}
		found, err := s.Read(segment.Request{From: max(from, s.Base()), Upper: upper, MaxBytes: int64(max(o.MaxBytes, 0)), MinOne: o.MinOne})
		if err != nil || found.Range != nil || found.TooLarge {
			return found, err
		}
	}
	return segment.Found{}, nil
}

// AbortedTransactions are the aborted transactions with data from offset from on
// and below upper, in the order of their markers. ErrChanged: a segment went away
// meanwhile.
//
// Cost when there are none: one lock per segment of the range.
func (l *Log) AbortedTransactions(from, upper kafka.Offset) ([]Aborted, error) {
	out, err := abortedIn(l.list(), from, upper)
	if errors.Is(err, segment.ErrDeleted) {
		err = ErrChanged
	}
	return out, l.lookupFailed(err)
}

// abortedIn collects the aborted transactions of segments.
func abortedIn(list []*segment.Segment, from, upper kafka.Offset) (out []Aborted, err error) {
	for _, s := range list[find(list, from):] {
		var done bool
		if out, done, err = s.AbortedIn(out, from, upper); done || err != nil {
			break
		}
	}
	return out, err
}

// OffsetForTimestamp finds the first record whose timestamp is ts or later; ok is
// false when there is none below upper. Records inside of compressed batches are
// looked at one by one.
func (l *Log) OffsetForTimestamp(ts int64, upper kafka.Offset) (found TimeOffset, ok bool, err error) {
	err = l.lookup(func(list []*segment.Segment) error {
		found, ok, err = l.firstAt(list, ts, upper)
		return err
	})
	return found, ok, err
}

// lookup runs f on the segments of this moment, and again when one of them was deleted
// or replaced under it.
func (l *Log) lookup(f func(list []*segment.Segment) error) error {
	for {
		err := f(l.list())
		if !errors.Is(err, segment.ErrDeleted) {
			return l.lookupFailed(err)
		}
		if gone := l.usable(); gone != nil {
			return gone
		}
	}
}

// firstAt is OffsetForTimestamp in list.
func (l *Log) firstAt(list []*segment.Segment, ts int64, upper kafka.Offset) (TimeOffset, bool, error) {
	start := l.StartOffset()
	for _, s := range list {
		if s.Next() <= start {
			continue
		}
		largest, err := s.MaxTimestamp()
		if err != nil {
			return TimeOffset{}, false, err
		}
		if largest < ts {
			continue
		}
		found, ok, err := s.FirstAt(ts, start, l.limits)
		if err != nil {
			return TimeOffset{}, false, err
		}
		if ok {
			return timeOffset(found, upper)
		}
	}
	return TimeOffset{}, false, nil
}

// MaxTimestampOffset finds the first record with the log's largest timestamp; ok is
// false when there is none below upper.
func (l *Log) MaxTimestampOffset(upper kafka.Offset) (found TimeOffset, ok bool, err error) {
	err = l.lookup(func(list []*segment.Segment) error {
		found, ok, err = l.latestIn(list, upper)
		return err
	})
	return found, ok, err
}

// latestIn is MaxTimestampOffset in list.
func (l *Log) latestIn(list []*segment.Segment, upper kafka.Offset) (TimeOffset, bool, error) {
	var latest *segment.Segment
	most := int64(-1)
	for _, s := range list {
		ts, err := s.MaxTimestamp()
		if err != nil {
			return TimeOffset{}, false, err
		}
		if ts > most {
			latest, most = s, ts
		}
	}
	if latest == nil {
		return TimeOffset{}, false, nil
	}
	found, ok, err := latest.Latest(l.limits)
	if err != nil || !ok {
		return TimeOffset{}, false, err
	}
	return timeOffset(found, upper)
}

func timeOffset(s segment.Stamp, upper kafka.Offset) (TimeOffset, bool, error) {
	if s.Offset >= upper {
		return TimeOffset{}, false, nil
	}
	return TimeOffset{Offset: s.Offset, Timestamp: s.Timestamp, Epoch: s.Epoch}, true, nil
}

// lookupFailed names the error of a lookup; a log that was closed or deleted
// meanwhile is the reason for what its files say.
func (l *Log) lookupFailed(err error) error {
	if err == nil {
		return nil
	}
	if gone := l.usable(); gone != nil {
		return gone
	}
	if errors.Is(err, ErrChanged) {
		return fmt.Errorf("%s: %w", l.tp, err)
	}
	return l.storageError(err)
}

// SegmentCount is how many segments there are, with the active one.
func (l *Log) SegmentCount() int { return len(l.list()) }

// Segments describes the segments, oldest first; the last is the active one.
func (l *Log) Segments() []SegmentInfo {
	list := l.list()
	out := make([]SegmentInfo, len(list))
	for i, s := range list {
		info := SegmentInfo{
			Base: s.Base(), Next: s.Next(), Bytes: s.Size(),
			Created: s.Created(), LastModified: s.Modified(), Active: i == len(list)-1,
		}
		var err error
		if info.MaxTimestamp, err = s.MaxTimestamp(); err != nil {
			info.MaxTimestamp = -1
			l.log.Warn("largest timestamp of a segment can't be read", "partition", l.tp.String(), "segment", int64(s.Base()), "err", err)
		}
		out[i] = info
	}
	return out
}
