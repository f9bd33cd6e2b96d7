package commitlog

import (
	"fmt"
	"path/filepath"

	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
)

// syncTries bounds how often Sync begins again because of truncations.
const syncTries = 3

// Sync makes everything durable that was appended before it was called, and moves
// the recovery point there. It returns the recovery point. It runs beside appends;
// concurrent calls wait for each other. When the disk fails it, nobody knows what
// is on it: the log is failed from then on.
//
// Cost: one fdatasync for each segment with new data, one of the folder and of the
// epochs if files were made.
func (l *Log) Sync() (kafka.Offset, error) {
	if err := l.usable(); err != nil {
		return l.RecoveryPoint(), err
	}
	return l.sync()
}

func (l *Log) sync() (kafka.Offset, error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	for range syncTries {
		l.mu.Lock()
		list, end, cuts, fresh, made := l.list(), l.EndOffset(), l.cuts, l.fresh, l.made
		l.fresh, l.made = false, false
		l.mu.Unlock()
		point := l.RecoveryPoint()
		if point >= end && !fresh {
			return point, nil
		}
		if err := l.syncSegments(list, point, fresh, made); err != nil {
			if l.cutSince(cuts) { // it was deleted under us
				continue
			}
			return l.RecoveryPoint(), l.fail(fmt.Errorf("sync: %w", err))
		}
		l.mu.Lock()
		same := l.cuts == cuts
		if same {
			l.recovery.Store(max(l.recovery.Load(), int64(end)))
		}
		l.mu.Unlock()
		if same {
			return l.RecoveryPoint(), nil
		}
	}
	return l.RecoveryPoint(), nil
}

// cutSince tells whether the log was truncated since cuts was read.
func (l *Log) cutSince(cuts uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cuts != cuts
}

// syncSegments makes the segments from point on durable, and the folder and the
// epochs if files were made.
func (l *Log) syncSegments(list []*segment.Segment, point kafka.Offset, fresh, made bool) error {
	if fresh { // first: what was deleted must not come back between newer data
		if err := l.syncDirs(made); err != nil {
			return err
		}
	}
	for _, s := range list[find(list, point):] {
		if s.Size() == 0 || (s.Next() <= point && !fresh) {
			continue
		}
		if err := s.Sync(); err != nil {
			if s.Gone() { // retention took it
				continue
			}
			return err
		}
		l.metrics.syncs.Add(1)
		if err := s.FlushIndexes(); err != nil && !s.Gone() {
			l.log.Warn("index was not written, recovery would build it again", "partition", l.tp.String(), "err", err)
		}
	}
	return l.epochs.write(l.fs, l.epochPath(), true)
}

// syncDirs makes the names of files durable, and the folder's own if it is new.
func (l *Log) syncDirs(made bool) error {
	if made {
		if err := l.fs.SyncDir(filepath.Dir(l.dir.Path())); err != nil {
			return err
		}
	}
	return l.fs.SyncDir(l.dir.Path())
}
