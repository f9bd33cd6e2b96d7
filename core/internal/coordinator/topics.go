package coordinator

import (
	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// dropTries bounds the batches of deletions for one topic: a log that refuses them
// is not asked for ever.
const dropTries = 1000

// dropDeletedTopics deletes the offsets of topics that are gone, or that were made
// anew under the same name. before is nil after a load.
func (s *shard) dropDeletedTopics(before, img *meta.Image) {
	s.mu.Lock()
	if s.status != statusActive {
		s.mu.Unlock()
		return
	}
	now := s.now()
	var todo []done
	for _, drop := range s.gone(before, img) {
		for tries := 0; tries < dropTries; tries++ {
			out := drop()
			if len(out.Records) == 0 {
				break
			}
			d := s.settle(now, out)
			todo = append(todo, d)
			if d.code != kafka.None {
				break // the next image tries again
			}
		}
	}
	s.mu.Unlock()
	for _, d := range todo {
		s.finish(d)
	}
}

// gone says what to delete: one operation for each topic that offsets belong to and
// that is not what it was. Caller holds mu.
func (s *shard) gone(before, img *meta.Image) (drops []func() group.Output) {
	for name := range s.state.Topics {
		t, ok := img.Topic(name)
		switch {
		case !ok:
			drops = append(drops, func() group.Output { return s.state.TopicDeleted(name, kafka.NoTopicID) })
		case before == nil:
			drops = append(drops, func() group.Output { return s.state.TopicLoaded(name, t.ID) })
		default:
			if old, ok := before.Topic(name); !ok || old.ID != t.ID {
				drops = append(drops, func() group.Output { return s.state.TopicDeleted(name, t.ID) })
			}
		}
	}
	return drops
}
