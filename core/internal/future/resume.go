package future

import (
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// Resume takes up the moves that the last run of the broker did not end. It is called
// when the partitions are open, and before anybody appends to them: what a copy has
// beyond the end of its log is cut off.
func (m *Mover) Resume() {
	for _, f := range m.o.Dirs.FoundFutures() {
		if f.Dir.Offline() != nil {
			continue
		}
		if why := m.resume(f); why != "" {
			m.o.Log.Warn("copy of a log removed", "partition", f.TP.String(), "path", f.Path, "why", why)
			if err := m.o.Dirs.RemoveFound(f); err != nil {
				f.Dir.Failed("remove copy", err)
			}
		}
	}
}

// resume takes up one move; why: it can't be, and the copy is of no use.
func (m *Mover) resume(f logdir.Future) (why string) {
	p := m.o.Partition(f.TP)
	switch {
	case p == nil:
		return "no such partition on this broker"
	case p.Log() == nil || p.Offline() != nil:
		return "" // its log may be there at the next start
	case p.Dir() == f.Dir:
		return "the log is in this directory"
	case m.Moving(f.TP):
		return "there is another copy"
	case p.Config().Topic.CleanupCompact:
		return m.anew(p, f)
	}
	v := m.newMove(p, f.Dir, f.Path)
	v.found, v.limit = true, p.Log().EndOffset()
	m.add(v)
	return ""
}

// anew removes a copy and begins another one in its directory: if that was offline for a
// while, the log may have been compacted since. What the copy has could be of keys whose
// tombstones are gone.
func (m *Mover) anew(p *partition.Partition, f logdir.Future) (why string) {
	if err := m.o.Dirs.RemoveFound(f); err != nil {
		f.Dir.Failed("remove copy", err)
		return ""
	}
	v := m.newMove(p, f.Dir, f.Dir.FuturePath(f.TP))
	if v.begin() == nil { // else the directory was told
		m.add(v)
	}
	return ""
}

// Moving reports whether a partition is on its way.
func (m *Mover) Moving(tp kafka.TopicPartition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moves[tp] != nil
}
