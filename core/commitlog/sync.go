package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// syncTries bounds how often Sync begins again because of truncations.
const syncTries = 3

// Sync makes everything durable that was appended before it was called, and moves
// the recovery point there. It returns the recovery point. It runs beside appends;
// concurrent calls wait for each other. When the disk fails it, nobody knows what
// is on it: the log is failed from then on; but not when a full disk has no room for a
// small file beside the batches, which a later Sync writes.
//
// Cost: one fdatasync for each segment with new data; after a roll, a new epoch or
// an aborted transaction also one of each small file and one of the folder.
func (l *Log) Sync() (kafka.Offset, error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if err := l.usable(); err != nil {
		return l.RecoveryPoint(), err
	}
	return l.sync()
}

// sync is Sync. Caller holds syncing.
func (l *Log) sync() (kafka.Offset, error) {
	for range syncTries {
		w, any := l.unsynced()
		if !any {
			return l.RecoveryPoint(), nil
		}
		err := l.write(&w)
		if err != nil && l.cutSince(w.cuts) && (errors.Is(err, segment.ErrDeleted) || errors.Is(err, fs.ErrNotExist)) {
			l.again(&w) // a file went away under us; any other failure is one of the disk
			continue
		}
		if vfs.IsNoSpace(err) && vfs.IsNotReplaced(err) {
			l.again(&w) // the batches are there, and a file beside them is as it was: nothing is lost
			return l.RecoveryPoint(), l.storageError(fmt.Errorf("sync: %w", err))
		}
		if err != nil {
			return l.RecoveryPoint(), l.fail(fmt.Errorf("sync: %w", err))
		}
		l.mu.Lock()
		same := l.cuts == w.cuts
		if same {
			l.recovery.Store(max(l.recovery.Load(), int64(w.end)))
		}
		l.mu.Unlock()
		if same {
			return l.RecoveryPoint(), nil
		}
	}
	return l.RecoveryPoint(), nil
}

// syncWork is what one Sync makes durable.
type syncWork struct {
	list        []*segment.Segment
	point, end  kafka.Offset
	cuts        uint64
	fresh, made bool
	snapshots   []kafka.Offset
}

// unsynced takes over what waits for a Sync, and tells whether anything does.
func (l *Log) unsynced() (w syncWork, any bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w = syncWork{list: l.list(), point: l.RecoveryPoint(), end: l.EndOffset(), cuts: l.cuts, fresh: l.fresh, made: l.made, snapshots: l.unsyncedSnapshots}
	if w.point >= w.end && !w.fresh {
		return w, false
	}
	l.fresh, l.made, l.unsyncedSnapshots = false, false, nil
	return w, true
}

// again gives back what was taken over.
func (l *Log) again(w *syncWork) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh, l.made = l.fresh || w.fresh, l.made || w.made
	l.unsyncedSnapshots = append(w.snapshots, l.unsyncedSnapshots...)
}

// cutSince tells whether the log was truncated since cuts was read.
func (l *Log) cutSince(cuts uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cuts != cuts
}

// write makes the segments from the recovery point on durable with the epochs, and
// if files were made also the folder and the snapshots.
func (l *Log) write(w *syncWork) error {
	if w.made {
		if err := l.syncMetadata(); err != nil {
			return err
		}
	}
	if w.fresh { // first: what was deleted must not come back between newer data
		if err := l.syncDirs(w.made); err != nil {
			return err
		}
	}
	first := find(w.list, w.point)
	for i, s := range w.list {
		if i < first && !s.Changed() || !w.fresh && (s.Size() == 0 || s.Next() <= w.point) {
			continue
		}
		if err := s.FlushIndexes(); err != nil && !s.Gone() { // before Sync: below the recovery point indexes are trusted
			l.log.Warn("index was not written, recovery would build it again", "partition", l.tp.String(), "err", err)
		}
		if err := s.Sync(); err != nil {
			if s.Gone() { // retention took it
				continue
			}
			return err
		}
		l.metrics.syncs.Add(1)
	}
	for _, at := range w.snapshots {
		if err := l.syncSnapshot(at); err != nil {
			return err
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
