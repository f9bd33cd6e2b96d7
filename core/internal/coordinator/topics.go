package coordinator

import (
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// dropTries bounds the batches of deletions for one topic and image: a log that refuses
// them is not asked for ever.
const dropTries = 1000

// dropDeletedTopics deletes the offsets of topics that are gone, or that were made
// anew under the same name since the image before; nil: that is not known.
func (s *shard) dropDeletedTopics(before, img *meta.Image) {
	s.mu.Lock()
	if s.status != statusActive || s.dropped != nil && img.Index <= s.dropped.Index {
		s.mu.Unlock()
		return
	}
	now, all := s.now(), true
	var todo []done
	for name, keep := range s.gone(before, img) {
		for tries := 0; ; tries++ {
			if tries == dropTries {
				all = false
				break // the next image goes on
			}
			out := s.state.TopicDeleted(name, keep)
			if len(out.Records) == 0 {
				break
			}
			d := s.settle(now, out)
			todo = append(todo, d)
			if d.code != kafka.None {
				all = false
				break // the next image tries again
			}
		}
	}
	if all {
		s.dropped = img
	}
	s.mu.Unlock()
	for _, d := range todo {
		s.finish(d)
	}
}

// gone are the topics that offsets may belong to and that are not what they were, with
// the id of the one that has the name now, or none. Cost: what changed since the image of
// which everything was deleted; all topics with offsets if that is not known. Caller holds
// mu.
func (s *shard) gone(before, img *meta.Image) map[string]kafka.TopicID {
	gone := map[string]kafka.TopicID{}
	if s.dropped != nil {
		before = s.dropped
	}
	look := func(name string) {
		t, ok := img.Topic(name)
		if !ok {
			gone[name] = kafka.NoTopicID
		} else if before != nil {
			if old, ok := before.Topic(name); !ok || old.ID != t.ID {
				gone[name] = t.ID
			}
		}
	}
	if s.dropped != nil {
		if names, known := img.NamesChangedSince(before); known {
			for _, name := range names {
				look(name)
			}
			return gone
		}
	}
	for name := range s.state.Topics {
		look(name)
	}
	return gone
}
