package commitlog

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/producerstate"
	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
)

// Open opens the log in Options.Dir, or makes an empty one. Without Clean it
// first recovers: from the recovery point on every batch is checked, and what does
// not hold at the end is cut off. ErrCorrupt means that there is damage below the
// recovery point, in data that was on the disk: nothing was changed then.
//
// Cost: a clean log is one ReadDir, a stat per segment and two or three small
// reads; a new one a mkdir and one small file. Nothing is synced and no log file
// stays open.
func Open(ctx context.Context, o Options) (*Log, error) {
	l := newLog(&o)
	l.mu.Lock() // nobody else has the log yet, but timers of removals do
	found, err := l.listFiles(&o)
	if err == nil {
		err = l.load(ctx, &o, found)
	}
	l.mu.Unlock()
	if err != nil {
		l.abandon()
		return nil, fmt.Errorf("open log %s: %w", l.tp, err)
	}
	return l, nil
}

// abandon closes what a failed Open opened.
func (l *Log) abandon() {
	l.stop()
	if l.segments.Load() != nil {
		l.letGo()
	}
}

// newLog is a Log from options with their defaults.
func newLog(o *Options) *Log {
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	if o.Files == nil {
		o.Files = NewFiles(0, o.Metrics)
	}
	if o.Producers == nil {
		o.Producers = NewProducerBudget(0, o.Metrics)
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Config == nil {
		o.Config = DefaultConfig()
	}
	l := &Log{
		dir: segment.NewDir(o.FS, o.Dir, o.Files, o.Log), fs: o.FS, tp: o.TP, topicID: o.TopicID,
		clock: o.Clock, log: o.Log, metrics: newLogMetrics(o.Metrics), limits: o.Limits,
		producers: producerstate.New(o.TP, o.Producers),
	}
	l.epochs.last.Store(int32(kafka.NoLeaderEpoch))
	l.SetConfig(o.Config)
	return l
}

// load brings the log to life from its files.
func (l *Log) load(ctx context.Context, o *Options, found *files) error {
	if err := l.checkMetadata(found.metadata); err != nil {
		return err
	}
	if !o.Clean || len(found.logs) == 0 { // for all that is known, no name of a file is durable
		l.fresh, l.made = len(found.logs) > 0, true
	}
	rebuildEpochs := false
	if found.epochs {
		ok, err := l.epochs.load(l.fs, l.epochPath())
		if err != nil {
			return err
		}
		rebuildEpochs = !ok
	}
	l.snapshots = found.snapshots
	list := l.openSegments(o, found)
	l.publish(list)
	recovered := map[*segment.Segment]bool{}
	if !o.Clean && len(found.logs) > 0 {
		var err error
		if list, err = l.recover(ctx, o, list, recovered); err != nil {
			return err
		}
		l.publish(list)
	}
	if list[len(list)-1].Next() == kafka.NoOffset {
		if err := list[len(list)-1].Load(); err != nil {
			return err
		}
	}
	if err := l.setBounds(o, list); err != nil {
		return err
	}
	if err := l.loadEpochs(rebuildEpochs); err != nil {
		return err
	}
	trusted := l.EndOffset()
	if !o.Clean { // a later one may be of batches that a crash took, or that were truncated away
		trusted = o.RecoveryPoint
	}
	if err := l.loadProducers(trusted, recovered); err != nil {
		return err
	}
	l.removeStraySnapshots()
	return nil
}

// openSegments makes the segments of the files, or an empty one.
func (l *Log) openSegments(o *Options, f *files) []*segment.Segment {
	if len(f.logs) == 0 {
		return []*segment.Segment{l.newSegment(max(o.StartOffset, 0))}
	}
	list := make([]*segment.Segment, len(f.logs))
	for i, file := range f.logs {
		next := kafka.NoOffset
		if i+1 < len(f.logs) {
			next = f.logs[i+1].base
		} else if o.Clean {
			next = f.cleanEnd(file)
		}
		list[i] = segment.Existing(l.dir, file.base, next, file.info.Size(), file.info.ModTime(), f.txns[file.base])
		if i+1 < len(f.logs) {
			list[i].SetNext(next)
		}
	}
	return list
}

// setBounds decides start, end and recovery point.
func (l *Log) setBounds(o *Options, list []*segment.Segment) error {
	end := list[len(list)-1].Next()
	start := max(o.StartOffset, list[0].Base(), 0)
	if start > end {
		if o.Clean {
			return fmt.Errorf("%w: log start offset is %d, the data of a clean log ends at %d", ErrCorrupt, start, end)
		}
		l.log.Error("log ends before its start offset: the data is given up", "partition", l.tp.String(), "start", int64(start), "end", int64(end))
		return l.startOver(start)
	}
	point := min(max(o.RecoveryPoint, start), end)
	if o.RecoveryPoint > end {
		l.log.Error("log ends before its recovery point: flushed data is missing, or the checkpoint is not this log's",
			"partition", l.tp.String(), "recovery_point", int64(o.RecoveryPoint), "end", int64(end))
	}
	l.start.Store(int64(start))
	l.end.Store(int64(end))
	l.recovery.Store(int64(point))
	return nil
}

// loadEpochs makes the epochs fit the log, reading them from the batches when the
// file was bad. An epoch that begins at the end, without data, stays.
func (l *Log) loadEpochs(rebuild bool) error {
	if rebuild {
		l.log.Warn("leader epochs can't be read, taking them from the batches", "partition", l.tp.String(), "file", l.epochPath())
		for _, s := range l.list() {
			if err := s.Visit(s.Base(), l.visitEpoch); err != nil {
				return err
			}
		}
	}
	l.epochs.truncateEnd(l.EndOffset() + 1)
	if err := l.extendEpochs(); err != nil {
		return err
	}
	l.epochs.truncateStart(l.StartOffset())
	return l.epochs.write(l.fs, l.epochPath(), false)
}

// extendEpochs reads the epochs of batches before the first known one: the log
// start went back because its checkpoint was lost.
func (l *Log) extendEpochs() error {
	first := l.epochs.first()
	if first == kafka.NoOffset || first <= l.StartOffset() {
		return nil
	}
	var older epochCache
	for _, s := range l.list() {
		if s.Base() >= first {
			break
		}
		err := s.Visit(max(s.Base(), l.StartOffset()), func(head record.Batch, _ func() (record.Batch, error)) error {
			if e := head.LeaderEpoch(); head.BaseOffset() < first && e > older.latest() {
				older.assign(e, head.BaseOffset())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	l.epochs.prepend(older.list)
	return nil
}
