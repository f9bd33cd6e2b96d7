package future

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// compare makes the copy a beginning of the log: after a truncation, or when the copy is
// of an earlier run, it may have what the log does not.
func (v *move) compare() error {
	source := v.p.Log()
	cuts := source.Truncations()
	if v.source == source && v.cuts == cuts {
		return nil
	}
	end := v.copied.EndOffset()
	common := source.CommonEnd(v.copied.LatestEpoch(), end)
	if common < end {
		if err := v.copied.Truncate(common); err != nil {
			return copyError{err}
		}
	}
	v.source, v.cuts = source, cuts
	return nil
}

// copySome copies about turnBytes, and returns how many bytes there were: none when the
// copy has caught up.
func (v *move) copySome() (int, error) {
	n, err := v.fetch(v.source, turnBytes)
	if err != nil || n == 0 {
		return 0, err
	}
	if err := v.m.rate.Wait(v.ctx, n); err != nil {
		return 0, err
	}
	return n, v.store()
}

// copyLast copies what is left while nothing is appended to the log, if that is little.
// It is called under the partition's lock, so it does not wait for the rate.
func (v *move) copyLast(from *commitlog.Log) error {
	if from != v.source || from.Truncations() != v.cuts || v.copied.EndOffset() < from.StartOffset() {
		return commitlog.ErrChanged
	}
	for left := lastMax; v.copied.EndOffset() < from.EndOffset(); {
		n, err := v.fetch(from, left)
		if err != nil {
			return err
		}
		if left -= n; left < 0 {
			return errBehind
		}
		if err := v.store(); err != nil {
			return err
		}
	}
	return nil
}

// fetch reads the next batches of the log into v.buf, at most about limit bytes but at
// least one batch, and returns how many bytes there were.
func (v *move) fetch(from *commitlog.Log, limit int) (int, error) {
	if start := from.StartOffset(); v.copied.EndOffset() < start { // retention was faster
		if err := v.copied.TruncateFullyAndStartAt(start); err != nil {
			return 0, copyError{err}
		}
	}
	at, end := v.copied.EndOffset(), from.EndOffset()
	if at >= end {
		return 0, nil
	}
	got, err := from.Read(at, commitlog.ReadOptions{MaxBytes: limit, Upper: end, MinOne: true})
	if errors.Is(err, commitlog.ErrOffsetOutOfRange) {
		return 0, fmt.Errorf("copy at offset %d: %w", at, commitlog.ErrChanged) // the next turn looks again
	}
	if err != nil {
		return 0, sourceError{err}
	}
	if got.Range == nil {
		return 0, fmt.Errorf("%w: copy at offset %d, log end %d", errStuck, at, end)
	}
	v.buf, err = got.Range.ReadAll(v.buf[:0])
	got.Range.Release()
	if err != nil {
		return 0, sourceError{err}
	}
	return len(v.buf), nil
}

// store appends what was fetched to the copy. The log checked it once; a disk that
// gives other bytes back must not have the last word.
func (v *move) store() error {
	now := clock.Millis(v.m.o.Clock.Now())
	for rest := v.buf; len(rest) > 0; {
		b, more, err := record.Next(rest)
		if err == nil {
			err = b.CheckCRC()
		}
		if err != nil {
			return sourceError{fmt.Errorf("%s: copy at offset %d: %w: %w", v.p.TopicPartition(), v.copied.EndOffset(), commitlog.ErrCorrupt, err)}
		}
		if err := v.append(b, now); err != nil {
			return copyError{err}
		}
		rest = more
		v.m.metrics.copied.Add(uint64(len(b)))
	}
	return nil
}

// append appends one batch as it is. The first one may begin before the log's start,
// which lies inside of it.
func (v *move) append(b record.Batch, nowMS int64) error {
	if v.copied.SizeBytes() == 0 && b.BaseOffset() < v.copied.EndOffset() {
		if err := v.copied.TruncateFullyAndStartAt(b.BaseOffset()); err != nil {
			return err
		}
	}
	_, err := v.copied.Append(b, b.LeaderEpoch(), commitlog.AppendInfo{
		MaxTimestamp: b.MaxTimestamp(), OffsetOfMaxTimestamp: b.LastOffsetDelta(),
		LogAppendTimeMS: -1, NowMS: nowMS, Origin: commitlog.OriginReplication,
	})
	return err
}

// replica is the copy as its directory knows it.
type replica struct{ *move }

// TopicPartition implements logdir.Replica.
func (r *replica) TopicPartition() kafka.TopicPartition { return r.p.TopicPartition() }

// TopicID implements logdir.Replica.
func (r *replica) TopicID() kafka.TopicID { return r.p.TopicID() }

// StartOffset implements logdir.Replica.
func (r *replica) StartOffset() kafka.Offset { return r.copied.StartOffset() }

// EndOffset implements logdir.Replica.
func (r *replica) EndOffset() kafka.Offset { return r.copied.EndOffset() }

// RecoveryPoint implements logdir.Replica.
func (r *replica) RecoveryPoint() kafka.Offset { return r.copied.RecoveryPoint() }

// HighWatermark implements logdir.Replica: a copy has none.
func (r *replica) HighWatermark() kafka.Offset { return kafka.NoOffset }

// SizeBytes implements logdir.Replica.
func (r *replica) SizeBytes() int64 { return r.copied.SizeBytes() }

// FlushSealed implements logdir.Replica: a copy is flushed when it is whole.
func (r *replica) FlushSealed() {}

// DirectoryFailed implements logdir.Replica: the next turn finds out.
func (r *replica) DirectoryFailed() {}
