package future

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// after says what comes after a turn of a move.
type after int8

const (
	again after = iota
	later       // when the disk had time, or the log of the move before is gone
	over
)

// move is a partition on its way to another directory. Its worker has it alone, but
// for what says otherwise.
type move struct {
	m      *Mover
	p      *partition.Partition
	dir    *logdir.Dir // to
	folder string      // of the copy
	// found: the copy is of an earlier run; what it has beyond limit may be something
	// else than the log has there now.
	found bool
	limit kafka.Offset

	cancelled atomic.Bool // set by anybody
	ctx       context.Context
	stop      context.CancelFunc // ends a wait

	copied  *commitlog.Log // nil: not open yet
	known   *replica       // the copy as the directory knows it
	source  *commitlog.Log // what it was compared with
	cuts    uint64         // truncations of source at that time
	flushed bool           // most of the copy is
	buf     []byte
}

// newMove makes a move that has not begun.
func (m *Mover) newMove(p *partition.Partition, dir *logdir.Dir, folder string) *move {
	v := &move{m: m, p: p, dir: dir, folder: folder}
	v.ctx, v.stop = context.WithCancel(m.ctx)
	return v
}

// begin makes the copy's folder.
func (v *move) begin() error {
	tp := v.p.TopicPartition()
	err := v.dir.Free(tp)
	if err == nil && v.m.o.Forget != nil {
		err = v.m.o.Forget(v.dir, tp)
	}
	if err == nil {
		err = v.open()
	}
	if err != nil {
		v.dir.Failed("begin a copy of "+tp.String(), err)
	}
	return err
}

// open opens the copy and makes it known.
func (v *move) open() error {
	o := v.m.o.Copy(v.p, v.folder)
	if !v.found {
		o.StartOffset = v.p.StartOffset()
	}
	log, err := commitlog.Open(context.Background(), o)
	if err != nil {
		return err
	}
	v.copied = log
	if v.found && log.EndOffset() > v.limit {
		if err := log.Truncate(v.limit); err != nil {
			return err
		}
	}
	v.known = &replica{move: v}
	v.dir.AddFuture(v.known)
	return nil
}

// turn does what a move does in one turn.
func (v *move) turn() after {
	err := v.step()
	switch {
	case errors.Is(err, errDone): // before all else: the copy is the partition's log now
		return over
	case v.cancelled.Load():
		v.remove()
		return over
	case v.m.ctx.Err() != nil:
		v.leave()
		return over
	case err == nil:
		return again
	case errors.Is(err, partition.ErrLeaving):
		return later
	}
	return v.fault(err)
}

// errDone says that the copy has taken the log's place.
var errDone = errors.New("done")

// step opens the copy, or copies some of the log, or has the copy take its place.
func (v *move) step() error {
	if v.cancelled.Load() {
		return nil
	}
	if err := v.p.Offline(); err != nil {
		return sourceError{err}
	}
	if err := v.dir.Offline(); err != nil {
		return copyError{err}
	}
	if v.copied == nil {
		if err := v.open(); err != nil {
			return copyError{err}
		}
	}
	if err := v.compare(); err != nil {
		return err
	}
	n, err := v.copySome()
	if err == nil && n == 0 {
		err = v.finish()
	}
	if errors.Is(err, errBehind) || errors.Is(err, commitlog.ErrChanged) {
		v.source = nil // compare again
		return nil
	}
	return err
}

// finish has the copy take the log's place, unless the log has grown too much since it
// was last looked at (errBehind) or was truncated (ErrChanged).
//
// Nothing needs the copy to be flushed before; but it keeps short what comes after, and
// it is done once only: a log that grows all the time would be ahead after each.
func (v *move) finish() error {
	if !v.flushed {
		v.flushed = true
		if _, err := v.copied.Sync(); err != nil {
			return copyError{err}
		}
		return nil
	}
	tp := v.p.TopicPartition()
	from := v.p.Dir()
	remove, err := v.p.Replace(v.copied, v.dir, v.copyLast)
	var source sourceError
	switch {
	case err == nil:
	case errors.Is(err, errBehind), errors.Is(err, commitlog.ErrChanged), errors.Is(err, partition.ErrLeaving), errors.As(err, &source):
		return err
	case errors.Is(err, commitlog.ErrClosed):
		return sourceError{err}
	default:
		return copyError{err}
	}
	v.dir.RemoveFuture(v.known)
	v.m.metrics.swaps.Add(1)
	if _, err := v.copied.Sync(); err != nil && !errors.Is(err, commitlog.ErrClosed) { // the partition is in this directory now, and goes offline with it
		v.dir.Failed("sync after the move of "+tp.String(), err)
		return errDone
	}
	if err := v.dir.Checkpoint(); err != nil {
		v.m.o.Log.Warn("checkpoint after a move not written", "partition", tp.String(), "err", err)
	}
	if err := remove(); err != nil {
		v.m.o.Log.Error("the old log of a partition that moved is not removed; the next start does it", "partition", tp.String(), "dir", from.Path, "err", err)
	}
	v.m.o.Log.Info("partition moved", "partition", tp.String(), "from", from.Path, "to", v.dir.Path)
	return errDone
}

// fault decides what an error means for the move.
func (v *move) fault(err error) after {
	var ours copyError
	switch tp := v.p.TopicPartition(); {
	case errors.As(err, &ours) && commitlog.IsTransient(err):
		v.dir.Failed("copy of "+tp.String(), ours.error)
		return later
	case errors.As(err, &ours) && errors.Is(err, commitlog.ErrCorrupt):
		v.m.o.Log.Error("copy of a log is damaged, and removed; ask for the move again", "partition", tp.String(), "path", v.folder, "err", err)
		v.remove()
	case errors.As(err, &ours):
		v.dir.Failed("copy of "+tp.String(), ours.error)
		v.leave()
	case errors.Is(err, commitlog.ErrClosed): // deleted, or the broker stops
		v.remove()
		return over
	case v.p.Offline() != nil: // the copy may go on at the next start
		v.leave()
	default:
		v.m.o.Log.Error("move between log directories given up", "partition", tp.String(), "to", v.dir.Path, "err", err)
		v.remove()
	}
	v.m.metrics.failures.Add(1)
	return over
}

// remove ends the move and takes the copy away.
func (v *move) remove() {
	if v.known != nil {
		v.dir.RemoveFuture(v.known)
	}
	if v.copied == nil {
		if v.found {
			v.warn(v.m.o.Dirs.RemoveFound(logdir.Future{Dir: v.dir, TP: v.p.TopicPartition(), Path: v.folder}))
		}
		return
	}
	v.warn(v.copied.Delete())
}

// warn says that a copy stays where nobody needs it.
func (v *move) warn(err error) {
	if err != nil {
		v.m.o.Log.Warn("copy of a log not removed", "partition", v.p.TopicPartition().String(), "path", v.folder, "err", err)
	}
}

// leave ends the move and leaves the copy where it is.
func (v *move) leave() {
	if v.copied == nil {
		return
	}
	v.dir.RemoveFuture(v.known)
	if err := v.copied.Close(false); err != nil {
		v.m.o.Log.Warn("copy of a log did not close", "partition", v.p.TopicPartition().String(), "err", err)
	}
}

// copyError is a fault of the copy's side; sourceError one of the log's.
type (
	copyError   struct{ error }
	sourceError struct{ error }
)

// Unwrap gives the error itself.
func (e copyError) Unwrap() error { return e.error }

// Unwrap gives the error itself.
func (e sourceError) Unwrap() error { return e.error }
