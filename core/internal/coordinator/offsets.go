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
		ids, _ := s.groups()
		for _, id := range ids {
			if !s.offsets(id, yield) {
				return
			}
		}
	}
}

// OffsetsOf calls yield, as Offsets does, with each group of one partition of
// __consumer_offsets. false: groups may be missing, because this broker does not
// coordinate them, or not yet, or not any more.
func (c *Coordinator) OffsetsOf(n int32, yield func(id string, offsets map[string]map[int32]group.Offset)) bool {
	s := at(c.shards.Load(), n)
	if s == nil {
		return false
	}
	ids, ok := s.groups()
	for _, id := range ids {
		s.offsets(id, func(id string, offsets map[string]map[int32]group.Offset) bool {
			yield(id, offsets)
			return true
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok && s.admit() == kafka.None // a shard that has ended never takes operations again
}

// groups are the ids of the shard's groups; false: it loads, or has ended.
func (s *shard) groups() (ids []string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admit() != kafka.None {
		return nil, false
	}
	for _, g := range s.state.List(nil, nil) {
		ids = append(ids, g.Group)
	}
	return ids, true
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
