package partition

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// flusher is the partition as the group commit sees it.
type flusher Partition

// Sync implements logdir.Target. With flush.messages=1 it is what moves the high
// watermark.
func (f *flusher) Sync() (kafka.Offset, error) {
	p := (*Partition)(f)
	end, err := p.log.Sync()
	if errors.Is(err, commitlog.ErrClosed) {
		return end, logdir.ErrClosed // deleted or shut down: no fault of the disk
	}
	if err != nil {
		return end, err
	}
	p.dir.Appended()
	p.mu.Lock()
	n := p.advance(p.role.Load())
	p.mu.Unlock()
	if n > 0 {
		p.purgatory.Advance(&p.waiters, n)
	}
	return end, nil
}

// StartOffset implements logdir.Replica.
func (p *Partition) StartOffset() kafka.Offset { return p.log.StartOffset() }

// EndOffset implements logdir.Replica.
func (p *Partition) EndOffset() kafka.Offset { return p.log.EndOffset() }

// RecoveryPoint implements logdir.Replica.
func (p *Partition) RecoveryPoint() kafka.Offset { return p.log.RecoveryPoint() }

// SizeBytes implements logdir.Replica.
func (p *Partition) SizeBytes() int64 { return p.log.SizeBytes() }

// FlushSealed implements logdir.Replica.
func (p *Partition) FlushSealed() {
	point := p.log.RecoveryPoint()
	if p.log.EndOffset() == point {
		return
	}
	segments := p.log.Segments()
	if n := len(segments); n > 1 && segments[n-1].Base > point {
		p.dir.Syncer.Flush(&p.pending)
	}
}

// DirectoryFailed implements logdir.Replica.
func (p *Partition) DirectoryFailed() { p.purgatory.Nudge(&p.waiters) }

// DeleteOldest deletes the n oldest segments, which end at end, for retention; the
// active one counts and is rolled first. It refuses to go beyond the high watermark,
// and when the segments are not those that the caller saw: compaction makes one of
// several.
func (p *Partition) DeleteOldest(n int, end kafka.Offset, reason string) error {
	segments := p.log.Segments()
	if n <= 0 || n > len(segments) {
		return fmt.Errorf("%s: delete %d segments of %d: %w", p.tp, n, len(segments), ErrNotDeletable)
	}
	if next := segments[n-1].Next; next != end {
		return fmt.Errorf("%s: delete %d segments up to offset %d, they end at %d now: %w", p.tp, n, end, next, commitlog.ErrChanged)
	}
	limit := p.lastStable(p.HighWatermark())
	if next := segments[n-1].Next; next > limit {
		return fmt.Errorf("%s: delete up to offset %d beyond %d: %w", p.tp, next, limit, ErrNotDeletable)
	}
	if segments[n-1].Active {
		if err := p.withReserve(p.log.Roll); err != nil {
			p.failed("roll", err)
			return fmt.Errorf("%s: roll before retention: %w", p.tp, err)
		}
	}
	err := p.withReserve(func() error { return p.log.DeleteOldest(n, end, reason) })
	if errors.Is(err, commitlog.ErrChanged) {
		return err
	}
	if err != nil {
		p.failed("delete segments", err)
		return fmt.Errorf("%s: delete %d segments: %w", p.tp, n, err)
	}
	p.dir.Appended()
	p.purgatory.Nudge(&p.waiters)
	return nil
}

// withReserve runs something that frees space. When it finds none to work with,
// the directory's reserve is given up and it runs once more.
func (p *Partition) withReserve(f func() error) error {
	err := f()
	if vfs.IsNoSpace(err) && p.dir.ReleaseReserve() {
		err = f()
	}
	return err
}

// logFailed turns an error of the log into the code for a client, and tells the
// directory about those that are its own. The log's refusals are not: a log that was
// closed, a role that is over, an offset that is not there.
func (p *Partition) logFailed(op string, err error) kafka.ErrorCode {
	var ke *kafka.Error
	switch {
	case errors.As(err, &ke):
		return ke.Code
	case errors.Is(err, commitlog.ErrStorage), errors.Is(err, commitlog.ErrCorrupt):
		p.failed(op, err)
		return kafka.ErrKafkaStorageError
	case errors.Is(err, commitlog.ErrOffsetOutOfRange):
		return kafka.ErrOffsetOutOfRange
	case errors.Is(err, commitlog.ErrClosed), errors.Is(err, commitlog.ErrEpochBack), errors.Is(err, commitlog.ErrChanged):
		return kafka.ErrNotLeaderOrFollower // the client asks who leads, and comes again
	}
	p.failed(op, err)
	return kafka.ErrKafkaStorageError
}

// failed tells the log directory about an I/O error. Damage costs its own partition
// only; refusals of the log are no fault of the disk.
func (p *Partition) failed(op string, err error) {
	switch {
	case errors.Is(err, commitlog.ErrCorrupt):
		p.parts.Log.Error("log is damaged", "partition", p.tp.String(), "op", op, "err", err)
		return
	case errors.Is(err, commitlog.ErrStorage):
	case errors.Is(err, commitlog.ErrClosed), errors.Is(err, commitlog.ErrEpochBack), errors.Is(err, commitlog.ErrChanged),
		errors.Is(err, commitlog.ErrOffsetOutOfRange):
		p.parts.Log.Warn("log refused", "partition", p.tp.String(), "op", op, "err", err)
		return
	}
	p.dir.Failed(fmt.Sprintf("%s of %s", op, p.tp), err)
}

var _ logdir.Replica = (*Partition)(nil)
var _ logdir.Target = (*flusher)(nil)
