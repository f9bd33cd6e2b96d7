package logdir

import (
	"path"
	"sync"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// members are the logs of a directory, as its checkpoint files have them. It is
// safe for concurrent use.
type members struct {
	mu       sync.Mutex
	initial  [len(checkpointFiles)]checkpoint  // what the files said at the start about logs that are not open yet
	replicas map[kafka.TopicPartition]Replica  // open
	kept     map[kafka.TopicPartition]struct{} // found at the start and not open: what the files say of them is carried over
	stale    map[kafka.TopicPartition]struct{} // gone, and maybe in the files still
	futures  map[kafka.TopicPartition]Replica  // copies that will take a log's place; the files do not have them
	unclean  bool                              // a log did not close as a clean stop wants it
}

// The checkpoints in the order in which they are written. The start comes first: a
// recovery point that rose because the start did is damage without it.
const (
	logStarts = iota
	recoveryPoints
	highWatermarks
)

var checkpointFiles = [...]string{
	logStarts: LogStartFile, recoveryPoints: RecoveryPointFile, highWatermarks: HighWatermarkFile,
}

func newMembers() members {
	return members{
		replicas: map[kafka.TopicPartition]Replica{}, futures: map[kafka.TopicPartition]Replica{},
		kept: map[kafka.TopicPartition]struct{}{}, stale: map[kafka.TopicPartition]struct{}{},
	}
}

// Add makes the log count in checkpoints.
func (d *Dir) Add(r Replica) {
	m, tp := &d.members, r.TopicPartition()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replicas[tp] = r
	delete(m.kept, tp)
	delete(m.stale, tp)
	d.changed.Store(true)
}

// Remove forgets a log. Before another one gets its name, Free must be called.
func (d *Dir) Remove(tp kafka.TopicPartition) {
	m := &d.members
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.replicas, tp)
	delete(m.kept, tp)
	for _, c := range m.initial {
		delete(c, tp)
	}
	m.stale[tp] = struct{}{}
	d.changed.Store(true)
}

// NotClean says that a log could not be closed as a clean stop wants it: the next
// start must recover.
func (d *Dir) NotClean() {
	d.members.mu.Lock()
	defer d.members.mu.Unlock()
	d.members.unclean = true
}

// mayBeClean reports whether the directory may be marked after all of its logs were
// closed. Logs that were never opened are as clean as they were found.
func (m *members) mayBeClean(was bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.unclean && (was || len(m.kept) == 0)
}

// found notes a partition directory that was there at the start.
func (m *members) found(tp kafka.TopicPartition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[tp] = struct{}{}
}

// Unopened reports whether a log was found at the start and was neither opened nor
// set aside since: what the checkpoints say about it counts.
func (d *Dir) Unopened(tp kafka.TopicPartition) bool {
	d.members.mu.Lock()
	defer d.members.mu.Unlock()
	_, kept := d.members.kept[tp]
	return kept
}

// isStale reports whether the files may speak of a log of this name that is gone.
func (m *members) isStale(tp kafka.TopicPartition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, stale := m.stale[tp]
	return stale
}

// Replicas are the logs that were added, in no particular order.
func (d *Dir) Replicas() []Replica {
	d.members.mu.Lock()
	defer d.members.mu.Unlock()
	return d.members.all()
}

// all is Replicas. Caller holds mu.
func (m *members) all() []Replica {
	all := make([]Replica, 0, len(m.replicas))
	for _, r := range m.replicas {
		all = append(all, r)
	}
	return all
}

// count is the number of logs, those that are being copied here among them.
func (d *Dir) count() int {
	d.members.mu.Lock()
	defer d.members.mu.Unlock()
	return len(d.members.replicas) + len(d.members.futures)
}

// RecoveryPoint is the checkpointed end of what was flushed; NoOffset: unknown. As
// LogStart and HighWatermark it speaks of a log that was found at the start and was
// not added yet.
func (d *Dir) RecoveryPoint(tp kafka.TopicPartition) kafka.Offset {
	return d.members.checkpointed(recoveryPoints, tp)
}

// LogStart is the checkpointed log start offset; NoOffset: unknown.
func (d *Dir) LogStart(tp kafka.TopicPartition) kafka.Offset {
	return d.members.checkpointed(logStarts, tp)
}

// HighWatermark is the checkpointed high watermark; NoOffset: unknown.
func (d *Dir) HighWatermark(tp kafka.TopicPartition) kafka.Offset {
	return d.members.checkpointed(highWatermarks, tp)
}

// checkpointed is what one file said at the start.
func (m *members) checkpointed(file int, tp kafka.TopicPartition) kafka.Offset {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.initial[file][tp]; ok {
		return o
	}
	return kafka.NoOffset
}

// readCheckpoints reads the three files. One that can't be read counts as
// unknown: more is recovered than would be needed, nothing is lost.
func (d *Dir) readCheckpoints() {
	m := &d.members
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, file := range checkpointFiles {
		data, err := vfs.ReadFile(d.set.fs, path.Join(d.Path, file), maxCheckpointBytes)
		if isNotExist(err) {
			continue
		}
		if err == nil {
			m.initial[i], err = parseCheckpoint(data)
		}
		if err != nil {
			d.set.log.Warn("checkpoint is not usable; starting without it", "dir", d.Path, "file", file, "err", err)
		}
		for tp := range m.initial[i] {
			if _, here := m.kept[tp]; !here { // a crash came between the removal of a log and the next checkpoint
				delete(m.initial[i], tp)
				m.stale[tp] = struct{}{}
			}
		}
	}
}

// listing is what one writing of the files is about.
type listing struct {
	replicas []Replica
	kept     []kafka.TopicPartition
	stale    map[kafka.TopicPartition]struct{}
}

// list begins a writing: what is stale now is gone when it succeeds.
func (m *members) list() listing {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := listing{replicas: m.all(), stale: m.stale}
	for tp := range m.kept {
		l.kept = append(l.kept, tp)
	}
	m.stale = map[kafka.TopicPartition]struct{}{}
	return l
}

// written ends a writing that worked: what was read at the start is needed only of
// logs that are not open.
func (m *members) written() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for file, c := range m.initial {
		left := checkpoint{}
		for tp := range m.kept {
			if o, ok := c[tp]; ok {
				left[tp] = o
			}
		}
		m.initial[file] = left
	}
}

// failed ends a writing that did not work: what was stale may be there still.
func (m *members) failed(l listing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for tp := range l.stale {
		if _, open := m.replicas[tp]; !open {
			m.stale[tp] = struct{}{}
		}
	}
}

// writeCheckpoints replaces the three files. Caller holds Set.checkpoint.
func (d *Dir) writeCheckpoints(e *encoder) error {
	l := d.members.list()
	for file, name := range checkpointFiles {
		for _, r := range l.replicas {
			if o := offsetOf(r, file); o >= 0 {
				e.add(r.TopicPartition(), o)
			}
		}
		for _, tp := range l.kept {
			if o := d.members.checkpointed(file, tp); o >= 0 {
				e.add(tp, o)
			}
		}
		if err := d.writeFile(name, e.finish()); err != nil {
			d.members.failed(l)
			return err
		}
	}
	d.members.written()
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
