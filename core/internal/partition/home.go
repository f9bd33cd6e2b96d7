package partition

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// home is a partition's log and the directory that it is in. A partition changes both
// at once (Replace): who works with the log takes the home once, so that what goes
// wrong is told to the directory that it went wrong in.
type home struct {
	p       *Partition
	dir     *logdir.Dir    // nil: no directory was online
	log     *commitlog.Log // nil: it could not be opened
	pending logdir.Pending
	removed sync.Once // when the partition has left

	// stuck says that the last append of a follower found no space.
	stuck atomic.Bool
	// owes says that the checkpoints still speak of what a truncation took away. It is set
	// and paid with ctl held.
	owes atomic.Bool
}

// newHome makes a home. Nobody knows it yet.
func newHome(p *Partition, dir *logdir.Dir, log *commitlog.Log) *home {
	h := &home{p: p, dir: dir, log: log}
	h.pending.Target = (*flusher)(h)
	return h
}

// at is where the partition is now. It costs one atomic load.
func (p *Partition) at() *home { return p.home.Load() }

// left reports whether an operation on the log of a home failed because the partition
// has another home by now, and is to be done there.
func (p *Partition) left(h *home, err error) bool {
	return errors.Is(err, commitlog.ErrClosed) && p.at() != h
}

// Full says that the partition can't be appended to for want of space: it leads in a
// directory that is full, or follows and found no space for what it fetched last. Who
// follows and has nothing to append misses nothing.
func (p *Partition) Full() bool {
	h := p.at()
	return h != nil && h.dir != nil && h.dir.Full() && (p.role.Load().Leading || h.stuck.Load())
}

// flusher is a home as the group commit sees it.
type flusher home

// Sync implements logdir.Target. With flush.messages=1 it is what moves the high
// watermark.
func (f *flusher) Sync() (kafka.Offset, error) {
	h := (*home)(f)
	p := h.p
	end, err := h.log.Sync()
	if errors.Is(err, commitlog.ErrClosed) {
		return end, logdir.ErrClosed // deleted or shut down: no fault of the disk
	}
	if err != nil {
		h.spoilt()
		return end, err
	}
	h.dir.Appended()
	p.mu.Lock()
	n := p.advance(p.role.Load())
	p.mu.Unlock()
	p.visible(n)
	p.release()
	return end, nil
}

// TopicPartition implements logdir.Replica.
func (h *home) TopicPartition() kafka.TopicPartition { return h.p.tp }

// TopicID implements logdir.Replica.
func (h *home) TopicID() kafka.TopicID { return h.p.topicID }

// StartOffset implements logdir.Replica.
func (h *home) StartOffset() kafka.Offset { return h.log.StartOffset() }

// EndOffset implements logdir.Replica.
func (h *home) EndOffset() kafka.Offset { return h.log.EndOffset() }

// RecoveryPoint implements logdir.Replica.
func (h *home) RecoveryPoint() kafka.Offset { return h.log.RecoveryPoint() }

// HighWatermark implements logdir.Replica.
func (h *home) HighWatermark() kafka.Offset { return h.p.HighWatermark() }

// SizeBytes implements logdir.Replica.
func (h *home) SizeBytes() int64 { return h.log.SizeBytes() }

// FlushSealed implements logdir.Replica.
func (h *home) FlushSealed() {
	point := h.log.RecoveryPoint()
	if h.log.EndOffset() == point {
		return
	}
	segments := h.log.Segments()
	if n := len(segments); n > 1 && segments[n-1].Base > point {
		h.dir.Syncer.Flush(&h.pending)
	}
}

// DirectoryFailed implements logdir.Replica.
func (h *home) DirectoryFailed() {
	h.p.release()
	h.p.purgatory.Nudge(&h.p.waiters)
	h.p.purgatory.Nudge(&h.p.replicaWaiters)
}

// withReserve runs something that frees space. When it finds none to work with,
// the directory's reserve is given up and it runs once more.
func (h *home) withReserve(f func() error) error {
	err := f()
	if vfs.IsNoSpace(err) && h.dir.ReleaseReserve() {
		err = f()
	}
	return err
}

// logFailed turns an error of the log into the code for a client, and tells the
// directory about those that are its own. The log's refusals are not: a log that was
// closed, a role that is over, an offset that is not there.
func (h *home) logFailed(op string, err error) kafka.ErrorCode {
	var ke *kafka.Error
	switch {
	case errors.As(err, &ke):
		return ke.Code
	case errors.Is(err, commitlog.ErrStorage), errors.Is(err, commitlog.ErrCorrupt):
		h.failed(op, err)
		return kafka.ErrKafkaStorageError
	case errors.Is(err, commitlog.ErrOffsetOutOfRange):
		return kafka.ErrOffsetOutOfRange
	case errors.Is(err, commitlog.ErrClosed), errors.Is(err, commitlog.ErrEpochBack), errors.Is(err, commitlog.ErrChanged):
		return kafka.ErrNotLeaderOrFollower // the client asks who leads, and comes again
	}
	h.failed(op, err)
	return kafka.ErrKafkaStorageError
}

// failed tells the log directory about an I/O error. Damage costs its own partition
// only; refusals of the log are no fault of the disk.
func (h *home) failed(op string, err error) {
	tp := h.p.tp.String()
	switch {
	case errors.Is(err, commitlog.ErrCorrupt):
		h.p.parts.Log.Error("log is damaged", "partition", tp, "op", op, "err", err)
	case refusal(err):
		h.p.parts.Log.Warn("log refused", "partition", tp, "op", op, "err", err)
		return
	default:
		h.dir.Failed(fmt.Sprintf("%s of %s", op, tp), err)
	}
	h.spoilt()
}

// refusal tells whether the log said no, as opposed to its disk.
func refusal(err error) bool {
	if errors.Is(err, commitlog.ErrStorage) {
		return false
	}
	for _, no := range []error{commitlog.ErrClosed, commitlog.ErrEpochBack, commitlog.ErrChanged, commitlog.ErrOffsetOutOfRange} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// spoilt takes the partition offline when its log has to be opened again, whatever the
// directory thinks of the cause: a full disk passes, but not what it left half done.
func (h *home) spoilt() {
	cause := h.log.Failure()
	if cause == nil || h.p.at() != h || !h.p.broken.CompareAndSwap(nil, &cause) {
		return
	}
	h.p.parts.Log.Error("partition is offline until the broker starts again", "partition", h.p.tp.String(), "err", cause)
	h.DirectoryFailed() // to those who wait here it is the same
}

var _ logdir.Replica = (*home)(nil)
var _ logdir.Target = (*flusher)(nil)
