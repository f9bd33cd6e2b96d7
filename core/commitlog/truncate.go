package commitlog

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
)

// alone runs f, which changes what the log holds, beside nothing but readers. f is
// called with ctl and mu held.
func (l *Log) alone(f func() error) error {
	l.ctl.Lock()
	defer l.ctl.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	return f()
}

// Truncate drops everything from offset to on, and the leader epochs that have no
// records then: what a follower does with records that its leader does not have. Inside
// a batch it drops the whole batch. Ranges in
// flight keep their bytes. The owner must write the recovery point's checkpoint
// before it appends again: damage below it is refused.
//
// Unlike all else that holds the append lock, it waits for the disk: what was cut
// off must not come back between newer data. Followers do it after a change of
// leader, when they append nothing.
func (l *Log) Truncate(to kafka.Offset) error {
	return l.alone(func() error { return l.truncate(to) })
}

// truncate is Truncate. Caller holds ctl and mu.
func (l *Log) truncate(to kafka.Offset) error {
	if to >= l.EndOffset() {
		return l.forgetEmptyEpochs()
	}
	list := l.list()
	if to < list[0].Base() {
		return l.truncateFully(to)
	}
	l.cuts, l.fresh = l.cuts+1, true
	keep := find(list, to) + 1
	kept := list[:keep:keep]
	l.publish(kept) // first, so that no reader looks for what is discarded
	l.setEnd(kept[keep-1].Next())
	for _, s := range list[keep:] {
		l.discard(s, "truncation")
	}
	l.dropSnapshots(func(at kafka.Offset) bool { return at > to })
	if err := l.fs.SyncDir(l.dir.Path()); err != nil { // before the cut: a segment that came back would leave a hole
		return l.fail(err)
	}
	last := kept[keep-1]
	if err := last.Truncate(to); errors.Is(err, segment.ErrNotCut) { // who asked tries again
		if cut := l.afterCut(last.Next()); cut != nil {
			return cut
		}
		return l.storageError(err)
	} else if err != nil {
		return l.fail(err)
	}
	if err := l.fs.SyncDir(l.dir.Path()); err != nil { // another file may have taken its place
		return l.fail(err)
	}
	if keep < len(list) && last.Next() == list[keep].Base() { // nothing of it was cut, and it is sealed
		kept = append(kept, l.newSegment(last.Next()))
		l.publish(kept)
	}
	l.log.Info("truncated", "partition", l.tp.String(), "to", int64(to), "end", int64(kept[len(kept)-1].Next()))
	return l.afterCut(kept[len(kept)-1].Next())
}

// ForgetEmptyEpochs drops the epochs that begin at the end: this broker led in them and
// appended nothing. A follower does it when it begins: the epoch that it fetches with must
// be that of its last record, or the leader can't tell where the histories part.
func (l *Log) ForgetEmptyEpochs() error { return l.alone(l.forgetEmptyEpochs) }

// forgetEmptyEpochs is ForgetEmptyEpochs. Caller holds mu.
func (l *Log) forgetEmptyEpochs() error {
	if !l.epochs.truncateEnd(l.EndOffset()) {
		return nil
	}
	l.epochLate = false
	return l.writeEpochs()
}

// setEnd moves the end back, and what can't be behind it. Caller holds mu.
func (l *Log) setEnd(end kafka.Offset) {
	l.recovery.Store(min(l.recovery.Load(), int64(end)))
	l.start.Store(min(l.start.Load(), int64(end)))
	l.end.Store(min(l.end.Load(), int64(end)))
}

// afterCut makes everything else fit the new end. Caller holds ctl and mu.
func (l *Log) afterCut(end kafka.Offset) error {
	l.setEnd(end)
	l.epochs.truncateEnd(end)
	if err := l.writeEpochs(); IsTransient(err) { // what is on the disk is cut by the next Open, too
		l.epochLate = true
		l.log.Warn("leader epochs after a truncation are not on disk yet", "partition", l.tp.String(), "err", err)
	} else if err != nil {
		return l.fail(err)
	}
	l.dropSnapshots(func(at kafka.Offset) bool { return at > end })
	l.producers.Reset()
	last := l.active()
	kept, _, err := last.AbortedIn(nil, 0, end)
	if err == nil {
		whole := kept[:0]
		for _, a := range kept {
			if a.LastOffset < end {
				whole = append(whole, a)
			}
		}
		err = last.SetAborted(whole)
	}
	if err == nil {
		err = l.loadProducers(end, nil)
	}
	if err != nil {
		return l.fail(err)
	}
	return nil
}

// TruncateFullyAndStartAt drops all data; the next record gets offset. The owner
// must write the checkpoints of the start and the recovery point before it appends
// again: a start behind the end makes Open give the data up.
func (l *Log) TruncateFullyAndStartAt(offset kafka.Offset) error {
	return l.alone(func() error { return l.truncateFully(offset) })
}

// truncateFully is TruncateFullyAndStartAt. Caller holds ctl and mu.
func (l *Log) truncateFully(offset kafka.Offset) error {
	l.cuts, l.fresh = l.cuts+1, true
	if err := l.startOver(offset); err != nil {
		return l.fail(err)
	}
	return nil
}

// startOver makes the log empty at offset; the old segments' files are left to
// the caller, or to the next Open when they can't be moved.
func (l *Log) startOver(offset kafka.Offset) error {
	old := l.list()
	l.publish([]*segment.Segment{l.newSegment(offset)}) // first, so that no reader looks for what is discarded
	l.start.Store(int64(offset))
	l.end.Store(int64(offset))
	l.recovery.Store(int64(offset))
	for _, s := range old {
		l.discard(s, "start over")
	}
	l.producers.Reset()
	l.dropSnapshots(func(kafka.Offset) bool { return true })
	if err := l.active().Make(); err != nil { // its name tells where the log ends
		return err
	}
	if err := l.fs.SyncDir(l.dir.Path()); err != nil { // as Truncate does, for the same reason
		return err
	}
	l.epochs.truncateEnd(0)
	return l.epochs.write(l.fs, l.epochPath(), false)
}

// SetStartOffset moves the log start forward (DeleteRecords). Segments that end
// before it are deleted; one that holds it stays whole.
func (l *Log) SetStartOffset(offset kafka.Offset) error {
	return l.alone(func() error { return l.setStart(offset) })
}

// setStart is SetStartOffset. Caller holds ctl and mu.
func (l *Log) setStart(offset kafka.Offset) error {
	if offset <= l.StartOffset() {
		return nil
	}
	if end := l.EndOffset(); offset > end {
		return fmt.Errorf("%s: start offset %d beyond the end %d: %w", l.tp, offset, end, ErrOffsetOutOfRange)
	}
	l.start.Store(int64(offset))
	list := l.list()
	n := 0
	for n < len(list)-1 && list[n].Next() <= offset {
		n++
	}
	return l.dropOldest(n, "start offset moved")
}

// DeleteOldest deletes the n oldest segments, never the active one, and moves the
// log start behind them, to end. When they do not end there, because compaction made
// one of several meanwhile, it is ErrChanged. The files go after FileDeleteDelayMS.
func (l *Log) DeleteOldest(n int, end kafka.Offset, reason string) error {
	return l.alone(func() error { return l.deleteOldest(n, end, reason) })
}

// deleteOldest is DeleteOldest. Caller holds ctl and mu.
func (l *Log) deleteOldest(n int, end kafka.Offset, reason string) error {
	if have := len(l.list()); n < 0 || n >= have {
		return fmt.Errorf("%s: delete %d segments of %d, the active one can't go: %w", l.tp, n, have, ErrOffsetOutOfRange)
	}
	if n == 0 {
		return nil
	}
	if next := l.list()[n-1].Next(); next != end {
		return fmt.Errorf("%s: delete %d segments up to offset %d, they end at %d: %w", l.tp, n, end, next, ErrChanged)
	}
	return l.dropOldest(n, reason)
}

// dropOldest deletes n segments. Caller holds ctl and mu.
func (l *Log) dropOldest(n int, reason string) error {
	list := l.list()
	if n > 0 && list[n].Size() == 0 { // the last data goes: only the name of an empty file tells where the log ends
		if err := list[n].Make(); err != nil {
			return l.storageError(err)
		}
		l.fresh = true
	}
	if n > 0 {
		l.publish(append([]*segment.Segment(nil), list[n:]...))
		l.start.Store(max(l.start.Load(), int64(list[n].Base())))
	}
	l.recovery.Store(max(l.recovery.Load(), l.start.Load()))
	for _, s := range list[:n] {
		l.discard(s, reason)
	}
	first := l.list()[0].Base()
	newest := kafka.NoOffset
	if n := len(l.snapshots); n > 0 {
		newest = l.snapshots[n-1]
	}
	l.dropSnapshots(func(at kafka.Offset) bool { return at < first && at != newest })
	if l.epochs.truncateStart(l.StartOffset()) {
		return l.writeEpochs()
	}
	return nil
}

// discard takes a segment's files away: renamed now, removed later. What can't be
// renamed is tried again by removal; readers are not disturbed. Caller holds mu, or
// nobody else has the log yet.
func (l *Log) discard(s *segment.Segment, reason string) {
	l.log.Info("deleting segment", "partition", l.tp.String(), "base", int64(s.Base()), "bytes", s.Size(), "reason", reason)
	l.metrics.deletedSegments.Add(1)
	if err := s.MarkDeleted(); err != nil {
		l.log.Warn("segment was not renamed, it will be removed", "partition", l.tp.String(), "base", int64(s.Base()), "err", err)
		if err := s.Remove(); err != nil {
			l.log.Error("segment was not removed; it comes back at the next start", "partition", l.tp.String(), "base", int64(s.Base()), "err", err)
		}
		return
	}
	l.removeSegment(s, l.config.Load().FileDeleteDelayMS)
}
