package commitlog

import (
	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
)

// Roll begins a new segment if the active one holds data.
func (l *Log) Roll() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if l.active().Size() == 0 {
		return nil
	}
	return l.roll(l.EndOffset())
}

// roll begins a segment at base. The old one's indexes and the producers' state
// are written; nothing is synced. When that fails the log is as before. Caller
// holds mu.
//
// Cost: three small files written; the new segment's file is made by its first
// append.
func (l *Log) roll(base kafka.Offset) error {
	list := l.list()
	old := list[len(list)-1]
	if old.Size() == 0 { // a gap too wide for its indexes: it has no files yet
		l.publish(append(list[:len(list)-1:len(list)-1], l.newSegment(base)))
		return nil
	}
	if err := old.Seal(); err != nil {
		return l.writeFailed(err)
	}
	if err := l.takeSnapshot(base); err != nil {
		return l.writeFailed(err)
	}
	old.SetNext(base)
	active := l.newSegment(base)
	if c := l.config.Load(); c.Preallocate {
		if err := active.Preallocate(c.SegmentBytes); err != nil {
			l.log.Warn("segment was not preallocated", "partition", l.tp.String(), "err", err)
		}
	}
	l.publish(append(list[:len(list):len(list)], active))
	l.metrics.rolls.Add(1)
	l.fresh = true
	l.log.Debug("rolled", "partition", l.tp.String(), "base", int64(base))
	return nil
}

// publish shows readers another list of segments. Caller holds mu.
func (l *Log) publish(list []*segment.Segment) { l.segments.Store(&list) }
