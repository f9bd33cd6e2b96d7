package coordinator

import (
	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
)

// Offsets calls yield with each group that this broker coordinates and its committed
// offsets by topic and partition, which yield must neither change nor keep. Partitions
// of __consumer_offsets that are being loaded are left out.
//
// A shard's lock is held for one group at a time, so that members wait no longer for a
// look at all groups than for each other. A group that comes or goes meanwhile may or
// may not be seen.
func (c *Coordinator) Offsets(yield func(id string, offsets map[string]map[int32]group.Offset) bool) {
	for s := range c.all {
		for _, id := range s.groups() {
			if !s.offsets(id, yield) {
				return
			}
		}
	}
}

// groups are the ids of the shard's groups; none while it loads.
func (s *shard) groups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admit() != kafka.None {
		return nil
	}
	var ids []string
	for _, g := range s.state.List(nil, nil) {
		ids = append(ids, g.Group)
	}
	return ids
}

// offsets shows the offsets of one group, and reports whether more are wanted.
func (s *shard) offsets(id string, yield func(string, map[string]map[int32]group.Offset) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admit() != kafka.None {
		return true
	}
	offsets := s.state.Offsets(id)
	return len(offsets) == 0 || yield(id, offsets)
}
