package alterpartition

import (
	"iter"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/meta"
)

// DirectoryFailed has the cluster asked, at once, to count on this broker no more for the
// partitions whose log can't be used: others lead them then. Watch looks for such
// partitions as well, so that one which failed before it was known to the cluster, or
// whose change was overtaken, is not forgotten. It does not wait.
func (s *Sender) DirectoryFailed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.all; all != nil && !s.closed {
		s.running.Go(func() { s.lookForFailed(all) })
	}
}

// DirectoryFull has the cluster asked, at once, to have others lead what is led here in a
// full directory, and not to count on this broker for what it could not append. Called
// again while that is so it finds what has come meanwhile. It does not wait; one look at
// a time is made.
func (s *Sender) DirectoryFull() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.all; all != nil && !s.closed && !s.looking {
		s.looking = true
		s.running.Go(func() {
			s.lookForFailed(all)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.looking = false
		})
	}
}

// lookForFailed asks to leave the replicas that count of every partition that has failed
// here or has no room, and that somebody else could lead.
func (s *Sender) lookForFailed(all iter.Seq[*partition.Partition]) {
	d := s.o.Image().Draft()
	for p := range all {
		s.leave(d, p)
	}
}

// leave asks to leave the replicas that count of a partition if it has failed or has no
// room, the image of d lets this broker go, and it is not asked for already.
func (s *Sender) leave(d *meta.Draft, p *partition.Partition) {
	failed := p.Offline() != nil
	if !failed && !p.Full() {
		return
	}
	id := meta.PartitionID{Topic: p.TopicID(), Partition: p.TopicPartition().Partition}
	c := &meta.ISRChange{PartitionID: id, Failed: failed, Full: !failed}
	if d.MayLeave(s.o.Self, c) && s.mark(id) {
		s.ask(leaver{s, id}, c)
	}
}

// mark notes that this broker asks to leave a partition, and reports whether that is new.
func (s *Sender) mark(id meta.PartitionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, asked := s.leaving[id]
	s.leaving[id] = struct{}{}
	return !asked
}

// leaver asks again only while nobody decides: by the next look the image has changed.
type leaver struct {
	s  *Sender
	id meta.PartitionID
}

// ISRAnswered implements Asker.
func (l leaver) ISRAnswered(_ *meta.ISRChange, answer meta.ISRResult) bool {
	if answer.Err == errUndecided {
		return true
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	delete(l.s.leaving, l.id)
	return false
}

var _ Asker = leaver{}
