package consensus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// machine is raft's view of cluster/metadata. raft calls it from one goroutine,
// but for Snapshot's result; replay is done before raft starts.
type machine struct {
	images  *meta.Publisher
	applied atomic.Uint64 // index of the last entry that images includes
	members atomic.Pointer[raft.Configuration]
	decided chan struct{} // holds a token when an entry was applied; nil: nobody cares
	named   string        // the cluster's id by the log, decided or not; set by replay
	founded string        // the same of its founding
}

// newMachine starts empty.
func newMachine() *machine {
	m := &machine{images: meta.NewPublisher(meta.Empty(""))}
	m.StoreConfiguration(0, raft.Configuration{})
	return m
}

// replay brings the machine as far as the store is known to be decided: for a lone
// voter to its end, for others to where they were at their last orderly end. What
// comes after that must be readable, and raft tells what becomes of it: another leader
// may have decided otherwise.
func (m *machine) replay(s *store, members raft.Configuration, alone bool) error {
	m.StoreConfiguration(0, members)
	if err := m.replaySnapshot(s); err != nil {
		return err
	}
	first, err := s.logs.FirstIndex()
	if err != nil {
		return fmt.Errorf("%w: %s: first entry: %w", ErrCorrupt, s.dir, err)
	}
	last, err := s.logs.LastIndex()
	if err != nil {
		return fmt.Errorf("%w: %s: last entry: %w", ErrCorrupt, s.dir, err)
	}
	reached, err := s.reached()
	if err != nil {
		return err
	}
	if end := max(last, m.applied.Load()); end < reached {
		return fmt.Errorf("%w: %s ends at entry %d, want at least %d, which was there when the broker stopped",
			ErrCorrupt, s.fileOf(max(last, 1)), end, reached)
	}
	if last > m.applied.Load() && first > m.applied.Load()+1 {
		return fmt.Errorf("%w: %s starts at entry %d, want %d or less, where the snapshot ends",
			ErrCorrupt, s.fileOf(first), first, m.applied.Load()+1)
	}
	for index := m.applied.Load() + 1; index <= last; index++ {
		var entry raft.Log
		if err := s.logs.GetLog(index, &entry); err != nil {
			return fmt.Errorf("%w: %s: entry %d: %w", ErrCorrupt, s.fileOf(index), index, err)
		}
		if alone || index <= reached {
			_, err = m.apply(&entry)
		} else {
			err = m.look(&entry)
		}
		if err != nil {
			return unreadable(fmt.Sprintf("%s: entry %d", s.fileOf(index), index), err)
		}
	}
	return nil
}

// look reads an entry of which it is not known whether it was decided. That an id of
// the cluster was written down is enough to know the cluster by.
func (m *machine) look(entry *raft.Log) error {
	if entry.Type != raft.LogCommand {
		return nil
	}
	c, err := metadata.DecodeCommand(entry.Data)
	if b, ok := c.(*metadata.Bootstrap); ok && m.named == "" {
		m.named, m.founded = b.ClusterID, b.Founding
	}
	return err
}

// clusterID is the cluster that this node is of, also when it does not know anything
// else yet; empty: none.
func (m *machine) clusterID() string {
	if id := m.images.Image().ClusterID; id != "" {
		return id
	}
	return m.named
}

// identity is meta.Image.Identity of that cluster.
func (m *machine) identity() string {
	if i := m.images.Image(); i.ClusterID != "" {
		return i.Identity()
	}
	return meta.Identity(m.named, m.founded)
}

// replaySnapshot starts from the newest snapshot, if there is one.
func (m *machine) replaySnapshot(s *store) error {
	found, err := s.snapshots.List()
	if err != nil {
		return fmt.Errorf("%w: snapshots in %s: %w", ErrCorrupt, s.dir, err)
	}
	if len(found) == 0 {
		return nil
	}
	about, r, err := s.snapshots.Open(found[0].ID)
	if err != nil {
		return fmt.Errorf("%w: snapshot %s/snapshots/%s: %w", ErrCorrupt, s.dir, found[0].ID, err)
	}
	image, err := metadata.ReadSnapshot(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return unreadable(fmt.Sprintf("snapshot %s/snapshots/%s", s.dir, found[0].ID), err)
	}
	m.images.Publish(image)
	m.applied.Store(max(about.Index, image.Index)) // a lone voter's image may be ahead of raft
	return nil
}

// apply takes one committed entry.
func (m *machine) apply(entry *raft.Log) (metadata.Result, error) {
	var r metadata.Result
	if entry.Type == raft.LogCommand {
		command, err := metadata.DecodeCommand(entry.Data)
		if err != nil {
			return r, err
		}
		old := m.images.Image()
		next, result := metadata.Apply(old, entry.Index, command)
		if r = result; next != old {
			m.images.Publish(next)
		}
	}
	m.applied.Store(entry.Index)
	return r, nil
}

// Apply implements raft.FSM. An entry that was replayed already is skipped. One
// that can't be decoded ends the process: going on without it would make this
// node disagree with the others about everything after it.
func (m *machine) Apply(entry *raft.Log) any {
	if entry.Index <= m.applied.Load() {
		return metadata.Result{}
	}
	r, err := m.apply(entry)
	if err != nil {
		panic(fmt.Sprintf("control entry %d was agreed on, but this build can't read it: %v", entry.Index, err))
	}
	m.tell()
	return r
}

// tell notes that something was decided.
func (m *machine) tell() {
	select {
	case m.decided <- struct{}{}:
	default:
	}
}

// Snapshot implements raft.FSM. It costs nothing: the image never changes.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	return frozen{m.images.Image()}, nil
}

// Restore implements raft.FSM: a leader sent its snapshot. One that is older than what
// is here changes nothing: both are of the one history that was decided.
func (m *machine) Restore(r io.ReadCloser) error {
	image, err := metadata.ReadSnapshot(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if image.Index > m.images.Image().Index {
		m.images.Publish(image)
	}
	m.applied.Store(max(image.Index, m.applied.Load()))
	return nil
}

// StoreConfiguration implements raft.ConfigurationStore.
func (m *machine) StoreConfiguration(_ uint64, c raft.Configuration) {
	m.members.Store(&c)
	m.tell()
}

// addressOf is where a member was when it joined.
func (m *machine) addressOf(id raft.ServerID) (string, bool) { return addressIn(*m.members.Load(), id) }

// waitFor waits until the image has the change with the index, or for the end of the
// group, after which it never will.
func (m *machine) waitFor(ctx context.Context, quit <-chan struct{}, index uint64) error {
	if m.images.Image().Index >= index {
		return nil
	}
	there := make(chan struct{}, 1)
	defer m.images.Watch(func(i *meta.Image) {
		if i.Index >= index {
			select {
			case there <- struct{}{}:
			default:
			}
		}
	})()
	select {
	case <-there:
		return nil
	case <-quit:
	case <-ctx.Done():
	}
	return kafka.ErrRequestTimedOut.Err("")
}

// frozen is an image on its way into a snapshot.
type frozen struct{ image *meta.Image }

// Persist implements raft.FSMSnapshot.
func (f frozen) Persist(sink raft.SnapshotSink) error {
	if err := metadata.WriteSnapshot(sink, f.image); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (frozen) Release() {}

var (
	_ raft.FSM                = (*machine)(nil)
	_ raft.ConfigurationStore = (*machine)(nil)
)
