package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/vfs"
)

// open opens or makes the log of a partition. It always returns a partition, a
// broken one when the log can't be used.
func (r *Roles) open(t *Topic, number int32, c *partition.Config, first bool) *partition.Partition {
	tp := kafka.TopicPartition{Topic: t.Name, Partition: number}
	dir, existing, err := r.home(tp, t.ID, first)
	if err != nil {
		if dir != nil && dir.Offline() == nil {
			dir.Failed("find "+tp.String(), err)
			t.retry.Store(dir.Offline() == nil)
		}
		return r.broken(tp, t.ID, dir, c, err)
	}
	o := r.logOptions(tp, t.ID, dir, c, existing)
	log, err := commitlog.Open(context.Background(), o)
	if vfs.IsNoSpace(err) && dir.ReleaseReserve() {
		log, err = commitlog.Open(context.Background(), o)
	}
	if err != nil {
		if !errors.Is(err, commitlog.ErrCorrupt) {
			dir.Failed("open "+tp.String(), err)
			t.retry.Store(dir.Offline() == nil) // no space, or no file handles
		}
		return r.broken(tp, t.ID, dir, c, err)
	}
	hw := kafka.NoOffset
	switch {
	case existing:
		hw = dir.HighWatermark(tp)
	case r.image == nil:
		r.noteMade(meta.PartitionID{Topic: t.ID, Partition: number})
	}
	return partition.New(r.parts, tp, t.ID, dir, log, c, hw)
}

// noteMade is for Made.
func (r *Roles) noteMade(id meta.PartitionID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, id)
}

// home finds the directory of a partition: where its log is, or where a new one
// shall be. existing says that there is a log.
func (r *Roles) home(tp kafka.TopicPartition, id kafka.TopicID, first bool) (dir *logdir.Dir, existing bool, err error) {
	if dir, ok := r.o.Dirs.Found()[tp]; ok && dir.Unopened(tp) {
		if err := dir.Offline(); err != nil {
			return dir, true, err
		}
		if mine, err := r.claim(dir, tp, id); mine || err != nil {
			return dir, true, err
		}
	} else if first {
		for _, d := range r.o.Dirs.Dirs() {
			if err := d.Offline(); err != nil {
				return nil, false, fmt.Errorf("%s may be on a directory that can't be read: %w", tp, err)
			}
		}
	}
	if dir, err = r.o.Dirs.Place(tp); err != nil {
		return nil, false, err
	}
	// What a deletion could not remove must not become part of a new topic.
	if _, err := r.claim(dir, tp, id); err != nil {
		return dir, false, err
	}
	return dir, false, dir.Free(tp)
}

// claim reports whether the partition directory of tp may be opened as topic id's.
// Another topic's, and what can't be told from it, is set aside.
func (r *Roles) claim(dir *logdir.Dir, tp kafka.TopicPartition, id kafka.TopicID) (mine bool, err error) {
	owner, err := dir.Owner(tp)
	if err != nil {
		return false, fmt.Errorf("whose is %s: %w", dir.PartitionPath(tp), err)
	}
	if owner.Of(id) {
		return true, nil
	}
	return false, r.setAside(dir, tp, owner.String())
}

// logOptions are what the log is opened with.
func (r *Roles) logOptions(tp kafka.TopicPartition, id kafka.TopicID, dir *logdir.Dir, c *partition.Config, existing bool) commitlog.Options {
	o := commitlog.Options{
		FS: r.o.FS, Dir: dir.PartitionPath(tp), TP: tp, TopicID: id,
		Clock: r.o.Clock, Config: c.Log, Files: r.o.Files, Producers: r.o.Producers,
		RecoveryPoint: kafka.NoOffset, StartOffset: kafka.NoOffset,
		Log: r.logLog, Metrics: r.o.Metrics,
	}
	if !existing {
		return o
	}
	o.Clean = dir.Clean
	o.RecoveryPoint, o.StartOffset = dir.RecoveryPoint(tp), dir.LogStart(tp)
	if !dir.Clean {
		o.Progress = r.progress()
		if o.RecoveryPoint == kafka.NoOffset && !c.Topic.CleanupCompact {
			// It was made shortly before a crash, and nothing of it is known to be on the
			// disk. With a point, a gap between its segments is what the crash took.
			o.RecoveryPoint = 0
		}
	}
	return o
}

// CopyOptions are what a copy of a partition's log is opened with in another folder.
// What is in the folder already counts as not flushed.
func (r *Roles) CopyOptions(p *partition.Partition, folder string) commitlog.Options {
	o := r.logOptions(p.TopicPartition(), p.TopicID(), p.Dir(), p.Config(), false)
	o.Dir = folder
	return o
}

// progress adds the progress of one log to the total.
func (r *Roles) progress() func(done, total int64) {
	var lastDone, lastTotal int64
	return func(done, total int64) {
		rec := &r.o.Dirs.Recovery
		rec.BytesDone.Add(done - lastDone)
		rec.BytesTotal.Add(total - lastTotal)
		lastDone, lastTotal = done, total
	}
}

// broken makes a partition that only answers KAFKA_STORAGE_ERROR.
func (r *Roles) broken(tp kafka.TopicPartition, id kafka.TopicID, dir *logdir.Dir, c *partition.Config, err error) *partition.Partition {
	r.o.Log.Error("partition is offline; the others serve", "partition", tp.String(), "err", err)
	return partition.NewBroken(r.parts, tp, id, dir, c, err)
}
