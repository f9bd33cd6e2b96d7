package logdir

import (
	"fmt"
	"io"
	"path"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// fullPause is how long appends are refused after the file system said that it
// is full, before the next one may try.
const fullPause = 250 * time.Millisecond

// Replica is what a directory must know of a log in it. Its methods are called
// without locks, at any time until Remove.
type Replica interface {
	TopicPartition() kafka.TopicPartition
	TopicID() kafka.TopicID
	StartOffset() kafka.Offset
	EndOffset() kafka.Offset
	RecoveryPoint() kafka.Offset
	HighWatermark() kafka.Offset
	SizeBytes() int64
	// FlushSealed asks for a flush if a sealed segment was not flushed yet.
	FlushSealed()
	// DirectoryFailed says that the directory went offline.
	DirectoryFailed()
}

// Dir is one log directory. It is safe for concurrent use.
type Dir struct {
	Path   string
	ID     kafka.TopicID // NoTopicID: it was never readable
	Clean  bool          // the last shutdown was clean
	Syncer *Syncer

	// CleanEpoch is the registration that ended with the clean shutdown.
	CleanEpoch kafka.BrokerEpoch

	set  *Set
	lock io.Closer

	offline   atomic.Pointer[error]
	fullUntil atomic.Int64 // appends are refused, in nanoseconds since Set.start; 0: they are not
	full      atomic.Bool  // see Full
	refusedAt atomic.Int64 // when something found no space last, in nanoseconds since Set.start
	changed   atomic.Bool  // an offset moved since the last checkpoint
	reserved  atomic.Bool  // the reserve file is there

	members members
}

// Offline is nil while the directory is in use, and an error that wraps
// ErrOffline afterwards. It costs one atomic load.
func (d *Dir) Offline() error {
	if err := d.offline.Load(); err != nil {
		return *err
	}
	return nil
}

// Writable is nil when an append may be tried: an error that wraps ErrOffline or
// ErrFull otherwise.
//
// Hot: per append. 0 allocs; two atomic loads.
func (d *Dir) Writable() error {
	if err := d.Offline(); err != nil {
		return err
	}
	if until := d.fullUntil.Load(); until != 0 && d.set.sinceStart() < time.Duration(until) {
		return ErrFull
	}
	return nil
}

// Failed tells the directory about an I/O error of one of its logs. A full disk
// makes appends pause; running out of file handles is the process's problem, not
// the directory's; everything else takes the directory offline.
func (d *Dir) Failed(op string, err error) {
	switch {
	case err == nil:
	case vfs.IsNoSpace(err):
		d.noSpace(op, err)
	case isHandleLimit(err):
		d.set.handleLimit.Add(1)
		d.set.log.Error("out of file handles: raise the open-file limit", "dir", d.Path, "op", op, "err", err)
	default:
		d.takeOffline(op, err)
	}
}

// syncFailed tells the directory that a flush failed. A full disk is an excuse only
// where a small file could not be replaced: of a log, what the file system promised space
// for may be gone from its cache.
func (d *Dir) syncFailed(op string, err error) {
	if isHandleLimit(err) || vfs.IsNoSpace(err) && vfs.IsNotReplaced(err) {
		d.Failed(op, err)
		return
	}
	d.takeOffline(op, err)
}

// Appended tells the directory that an append worked.
func (d *Dir) Appended() {
	if d.fullUntil.Load() != 0 {
		d.fullUntil.Store(0)
	}
	d.Changed()
}

// Changed tells the directory that its checkpoints are not up to date any more, by
// something else than an append.
func (d *Dir) Changed() {
	if !d.changed.Load() {
		d.changed.Store(true)
	}
}

// takeOffline makes the directory unusable and tells its replicas.
func (d *Dir) takeOffline(op string, cause error) {
	err := fmt.Errorf("%w: %s: %s: %w", ErrOffline, d.Path, op, cause)
	if !d.offline.CompareAndSwap(nil, &err) {
		return
	}
	d.set.offlineDirs.Add(1)
	if d.full.Swap(false) { // that is not what it is out of use for
		d.set.fullDirs.Add(-1)
	}
	d.set.log.Error("log directory goes offline; its partitions answer KAFKA_STORAGE_ERROR until a restart", "dir", d.Path, "op", op, "err", cause)
	for _, r := range append(d.Replicas(), d.Futures()...) {
		r.DirectoryFailed()
	}
	if d.set.onOffline != nil {
		d.set.onOffline(d)
	}
}

// Usage asks how full the file system is.
func (d *Dir) Usage() (vfs.Usage, error) { return d.set.fs.Usage(d.Path) }

// PartitionPath is where the log of tp lives in this directory.
func (d *Dir) PartitionPath(tp kafka.TopicPartition) string { return path.Join(d.Path, tp.String()) }

// writeFile replaces a file of the directory. On a full disk it gives up the
// reserve and tries once more.
func (d *Dir) writeFile(name string, data []byte) error {
	file := path.Join(d.Path, name)
	err := vfs.WriteFileAtomic(d.set.fs, file, data)
	if vfs.IsNoSpace(err) && d.ReleaseReserve() {
		err = vfs.WriteFileAtomic(d.set.fs, file, data)
	}
	if err != nil {
		err = fmt.Errorf("checkpoint %s: %w", file, err)
		d.Failed("checkpoint", err)
	}
	return err
}

// ReleaseReserve gives the reserved space back and reports whether there was
// any. Who deletes on a full disk calls it when a write fails, and tries again.
func (d *Dir) ReleaseReserve() bool {
	if !d.reserved.CompareAndSwap(true, false) {
		return false
	}
	if err := dropReserve(d.set.fs, d.Path); err != nil {
		d.set.log.Warn("reserve of the log directory could not be released", "dir", d.Path, "err", err)
		return false
	}
	return true
}

// restoreReserve takes space for the next hard time once there is plenty.
func (d *Dir) restoreReserve(size int64) {
	if size <= 0 || d.reserved.Load() || d.Offline() != nil {
		return
	}
	if u, err := d.Usage(); err == nil && u.Available < uint64(4*size) {
		return
	}
	if err := makeReserve(d.set.fs, d.Path, size); err != nil {
		d.set.log.Warn("no reserve for a full disk", "dir", d.Path, "err", err)
		return
	}
	d.reserved.Store(true)
}
