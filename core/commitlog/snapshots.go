package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/mortisemq/mortise/core/internal/producerstate"
	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

func (l *Log) snapshotPath(at kafka.Offset) string {
	return l.dir.Path() + "/" + segment.Name(at, segment.Snapshot)
}

// takeSnapshot stores the producers' state at the end of the log, unless it is
// stored already; the next Sync makes it durable. Caller holds mu, or nobody
// appends.
func (l *Log) takeSnapshot(at kafka.Offset) error {
	if n := len(l.snapshots); at == 0 || n > 0 && l.snapshots[n-1] >= at {
		return nil
	}
	name, b := l.snapshotPath(at), l.producers.Snapshot()
	if err := writeFile(l.fs, name, b); err != nil {
		_ = l.fs.Remove(name) // half a snapshot is worth nothing; the checksum would tell
		return err
	}
	l.fresh = true
	l.unsyncedSnapshots = append(l.unsyncedSnapshots, at)
	l.snapshots = append(l.snapshots, at)
	return nil
}

// syncSnapshot makes a snapshot durable: once retention has deleted a producer's
// batches, nothing else remembers it.
func (l *Log) syncSnapshot(at kafka.Offset) error {
	f, err := l.fs.OpenFile(l.snapshotPath(at), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) { // dropped since
		return nil
	}
	if err != nil {
		return fmt.Errorf("sync snapshot: %w", err)
	}
	return errors.Join(f.SyncData(), f.Close())
}

// loadProducers restores the state from the newest snapshot up to offset trusted
// that can be read, and the batches after it. The .txnindex of segments that were recovered is made new.
func (l *Log) loadProducers(trusted kafka.Offset, recovered map[*segment.Segment]bool) error {
	end, first := l.EndOffset(), l.list()[0].Base()
	from := first // also below the log start: there are the ends of transactions
	for len(l.snapshots) > 0 {
		at := l.snapshots[len(l.snapshots)-1]
		if at >= first && at <= min(end, trusted) && l.restore(at) {
			from = at
			if l.fresh { // it may have been written by a process that was killed
				l.unsyncedSnapshots = append(l.unsyncedSnapshots, at)
			}
			break
		}
		l.snapshots = l.snapshots[:len(l.snapshots)-1]
		l.removeLater(0, l.snapshotPath(at))
	}
	if from >= end && len(recovered) == 0 {
		return nil
	}
	return l.replay(from, end, recovered)
}

// restore loads one snapshot and tells whether it was good.
func (l *Log) restore(at kafka.Offset) bool {
	b, err := vfs.ReadFile(l.fs, l.snapshotPath(at), producerstate.SnapshotBytesMax)
	if err == nil {
		err = l.producers.Restore(b, l.nowMS(), l.config.Load().ProducerExpirationMS)
	}
	if err != nil {
		l.log.Warn("producer snapshot is of no use", "partition", l.tp.String(), "file", l.snapshotPath(at), "err", err)
	}
	return err == nil
}

// replay feeds the batches from offset from to end to the producers' state.
func (l *Log) replay(from, end kafka.Offset, recovered map[*segment.Segment]bool) error {
	list := l.list()
	for _, s := range list {
		if s.Next() <= from && !recovered[s] {
			continue
		}
		if s.Base() > from {
			if err := l.takeSnapshot(s.Base()); err != nil { // the next start reads more again
				l.log.Warn("producer snapshot was not written", "partition", l.tp.String(), "at", int64(s.Base()), "err", err)
			}
		}
		r := replayer{log: l}
		if err := s.Visit(max(from, s.Base()), r.visit); err != nil {
			return err
		}
		if recovered[s] {
			kept, _, err := s.AbortedIn(nil, 0, from)
			if err != nil {
				l.log.Warn("index of aborted transactions is bad, writing it again", "partition", l.tp.String(), "err", err)
				kept = nil
			}
			kept = slices.DeleteFunc(kept, func(a segment.Aborted) bool { return a.LastOffset >= from })
			if err := s.SetAborted(append(kept, r.aborted...)); err != nil {
				return err
			}
		}
		if s != list[len(list)-1] {
			s.CloseFile()
		}
	}
	return nil
}

// replayer rebuilds the state from one segment.
type replayer struct {
	log     *Log
	aborted []segment.Aborted
}

func (r *replayer) visit(head record.Batch, body func() (record.Batch, error)) error {
	if head.ProducerID() < 0 {
		return nil
	}
	seen := min(head.MaxTimestamp(), r.log.nowMS())
	if !head.Control() {
		b := producerBatch(head, head.BaseOffset())
		r.log.producers.Appended(&b, seen)
		return nil
	}
	b, err := body()
	if err != nil {
		return err
	}
	m, ok, err := b.EndTxnMarker()
	if err != nil || !ok {
		return err
	}
	marker := producerMarker(m, b.BaseOffset())
	if c, ok := r.log.producers.MarkerAppended(marker, seen); ok && c.Abort {
		r.aborted = append(r.aborted, segment.Aborted{ProducerID: m.ProducerID, FirstOffset: c.First, LastOffset: c.Last, LastStable: c.LastStable})
	}
	return nil
}

// removeStraySnapshots keeps the snapshots at the segments' bases and the newest
// one, as Kafka does.
func (l *Log) removeStraySnapshots() {
	if len(l.snapshots) < 2 {
		return
	}
	bases := map[kafka.Offset]bool{l.snapshots[len(l.snapshots)-1]: true}
	for _, s := range l.list() {
		bases[s.Base()] = true
	}
	l.dropSnapshots(func(at kafka.Offset) bool { return !bases[at] })
}

// dropSnapshots removes those that drop names. Caller holds mu, or nobody appends.
func (l *Log) dropSnapshots(drop func(kafka.Offset) bool) {
	l.snapshots = slices.DeleteFunc(l.snapshots, func(at kafka.Offset) bool {
		if !drop(at) {
			return false
		}
		if err := l.fs.Remove(l.snapshotPath(at)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.log.Warn("producer snapshot was not removed", "partition", l.tp.String(), "err", err)
		}
		return true
	})
}
