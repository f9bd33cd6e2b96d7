package alterpartition

import (
	"iter"
	"slices"

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

// lookForFailed asks to leave the in-sync replicas of every partition that has failed
// here. It is up to the cluster whether somebody else can lead.
func (s *Sender) lookForFailed(all iter.Seq[*partition.Partition]) {
	img := s.o.Image()
	for p := range all {
		s.leave(img, p)
	}
}

// leave asks to leave the in-sync replicas of a partition if it has failed.
func (s *Sender) leave(img *meta.Image, p *partition.Partition) {
	if p.Offline() == nil {
		return
	}
	if c := s.leaving(img, p); c != nil {
		s.ask(leaver{}, c)
	}
}

// leaving is the change by which this broker leaves; nil: it is not in sync by the
// image, or has the only copy.
func (s *Sender) leaving(img *meta.Image, p *partition.Partition) *meta.ISRChange {
	n := p.TopicPartition().Partition
	t, ok := img.TopicByID(p.TopicID())
	if !ok || int(n) >= len(t.Partitions) {
		return nil
	}
	is := &t.Partitions[n]
	if len(is.Replicas) < 2 || !slices.Contains(is.ISR, s.o.Self) {
		return nil
	}
	return &meta.ISRChange{
		PartitionID: meta.PartitionID{Topic: t.ID, Partition: n},
		LeaderEpoch: is.LeaderEpoch, PartitionEpoch: is.PartitionEpoch, Failed: true,
	}
}

// leaver asks again only while nobody decides: by the next look the image has changed.
type leaver struct{}

// ISRAnswered implements Asker.
func (leaver) ISRAnswered(_ *meta.ISRChange, answer meta.ISRResult) bool {
	return answer.Err == errUndecided
}

var _ Asker = leaver{}
