package logdir

import (
	"fmt"
	"io"
	"path"
	"sync"
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

	set     *Set
	lock    io.Closer
	initial [len(checkpointFiles)]checkpoint // as read at the start; nil: unknown

	offline   atomic.Pointer[error]
	fullUntil atomic.Int64 // nanoseconds since Set.start; 0: not full
	changed   atomic.Bool  // an offset moved since the last checkpoint
	reserved  atomic.Bool  // the reserve file is there

	mu       sync.Mutex
	replicas map[kafka.TopicPartition]Replica
	kept     map[kafka.TopicPartition]struct{} // logs that could not be opened
}

// The checkpoints by their place in Dir.initial.
const (
	recoveryPoints = iota
	logStarts
	highWatermarks
)

var checkpointFiles = [...]string{
	recoveryPoints: RecoveryPointFile, logStarts: LogStartFile, highWatermarks: HighWatermarkFile,
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
		if d.fullUntil.Swap(int64(d.set.sinceStart()+fullPause)) == 0 {
			d.set.log.Error("log directory is full: appends are refused until there is space", "dir", d.Path, "op", op, "err", err)
		}
	case isHandleLimit(err):
		d.set.handleLimit.Add(1)
		d.set.log.Error("out of file handles: raise the open-file limit", "dir", d.Path, "op", op, "err", err)
	default:
		d.takeOffline(op, err)
	}
}

// syncFailed tells the directory that a flush failed. A full disk is no excuse
// here: what the file system promised space for may be gone from its cache.
func (d *Dir) syncFailed(op string, err error) {
	if isHandleLimit(err) {
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
	d.set.log.Error("log directory goes offline; its partitions answer KAFKA_STORAGE_ERROR until a restart", "dir", d.Path, "op", op, "err", cause)
	for _, r := range d.Replicas() {
		r.DirectoryFailed()
	}
	if d.set.onOffline != nil {
		d.set.onOffline(d)
	}
}

// Add makes the log count in checkpoints.
func (d *Dir) Add(r Replica) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replicas[r.TopicPartition()] = r
	delete(d.kept, r.TopicPartition())
	d.changed.Store(true)
}

// Remove forgets a log.
func (d *Dir) Remove(tp kafka.TopicPartition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.replicas, tp)
	delete(d.kept, tp)
	d.changed.Store(true)
}

// Keep carries the checkpointed offsets of a log that could not be opened over
// to the next checkpoints.
func (d *Dir) Keep(tp kafka.TopicPartition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept[tp] = struct{}{}
}

// Replicas are the logs that were added, in no particular order.
func (d *Dir) Replicas() []Replica {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]Replica, 0, len(d.replicas))
	for _, r := range d.replicas {
		all = append(all, r)
	}
	return all
}

// count is the number of logs.
func (d *Dir) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.replicas)
}

// Usage asks how full the file system is.
func (d *Dir) Usage() (vfs.Usage, error) { return d.set.fs.Usage(d.Path) }

// PartitionPath is where the log of tp lives in this directory.
func (d *Dir) PartitionPath(tp kafka.TopicPartition) string { return path.Join(d.Path, tp.String()) }

// RecoveryPoint is the checkpointed end of what was flushed; NoOffset: unknown.
func (d *Dir) RecoveryPoint(tp kafka.TopicPartition) kafka.Offset {
	return d.checkpointed(recoveryPoints, tp)
}

// LogStart is the checkpointed log start offset; NoOffset: unknown.
func (d *Dir) LogStart(tp kafka.TopicPartition) kafka.Offset { return d.checkpointed(logStarts, tp) }

// HighWatermark is the checkpointed high watermark; NoOffset: unknown.
func (d *Dir) HighWatermark(tp kafka.TopicPartition) kafka.Offset {
	return d.checkpointed(highWatermarks, tp)
}

// checkpointed is what one file said at the start.
func (d *Dir) checkpointed(file int, tp kafka.TopicPartition) kafka.Offset {
	if o, ok := d.initial[file][tp]; ok {
		return o
	}
	return kafka.NoOffset
}

// readCheckpoints reads the three files. One that can't be read counts as
// unknown: more is recovered than would be needed, nothing is lost.
func (d *Dir) readCheckpoints() {
	for i, file := range checkpointFiles {
		data, err := vfs.ReadFile(d.set.fs, path.Join(d.Path, file), maxCheckpointBytes)
		if isNotExist(err) {
			continue
		}
		if err == nil {
			d.initial[i], err = parseCheckpoint(data)
		}
		if err != nil {
			d.set.log.Warn("checkpoint is not usable; starting without it", "dir", d.Path, "file", file, "err", err)
		}
	}
}

// writeCheckpoints replaces the three files. Caller holds Set.checkpoint.
func (d *Dir) writeCheckpoints(e *encoder) error {
	replicas := d.Replicas()
	for file, name := range checkpointFiles {
		for _, r := range replicas {
			if o := offsetOf(r, file); o >= 0 {
				e.add(r.TopicPartition(), o)
			}
		}
		d.addKept(e, file)
		if err := d.writeFile(name, e.finish()); err != nil {
			return err
		}
	}
	return nil
}

// offsetOf is what a file says about a log; NoOffset: nothing. A log that starts
// at 0 needs no line in the log-start file.
func offsetOf(r Replica, file int) kafka.Offset {
	switch file {
	case recoveryPoints:
		return r.RecoveryPoint()
	case highWatermarks:
		return r.HighWatermark()
	}
	if start := r.StartOffset(); start > 0 {
		return start
	}
	return kafka.NoOffset
}

// addKept adds what the file said about logs that could not be opened.
func (d *Dir) addKept(e *encoder, file int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for tp := range d.kept {
		if o := d.checkpointed(file, tp); o >= 0 {
			e.add(tp, o)
		}
	}
}

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
