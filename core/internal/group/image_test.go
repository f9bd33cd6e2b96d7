package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// changedImage is the next image, with another topic of the name.
func changedImage(i *meta.Image, name string, id byte) *meta.Image {
	e := i.Edit(i.Index + 1)
	e.PutTopic(&meta.Topic{Name: name, ID: kafka.TopicID{id}, Partitions: make([]meta.Partition, 6)})
	return e.Image()
}

// Members look at their topics again when one of them changed, and only then, whether or
// not the new image knows what changed since the last.
func TestOnlyTopicsOfTheGroupDisturbIt(t *testing.T) {
	first := changedImage(changedImage(meta.Empty("c"), "t", 1), "other", 2)
	again := meta.Empty("c").Edit(9) // as restored: it knows nothing of the first
	for topic := range first.Topics() {
		again.PutTopic(topic)
	}
	restored := again.Image()
	for _, c := range []struct {
		says  string
		image *meta.Image
		calm  bool
	}{
		{"another topic", changedImage(first, "other", 2), true},
		{"a new topic", changedImage(first, "new", 3), true},
		{"its topic", changedImage(first, "t", 1), false},
		{"its topic, made anew", changedImage(first, "t", 4), false},
		{"nothing, in an image without a past", restored, true},
		{"its topic, in an image without a past", changedImage(meta.Empty("c"), "t", 1), false},
	} {
		s, beats := crowdedConsumers(t, 3)
		s.SetImage(first, func() bool { return true })
		for i := range beats { // everybody has looked at the first image
			s.Appended(0, s.ConsumerHeartbeat(0, Caller{}, &beats[i]), kafka.None)
		}
		s.SetImage(c.image, func() bool { t.Errorf("%s: nobody subscribes to an expression", c.says); return true })
		var r kmsg.ConsumerGroupHeartbeatResponse
		for i := range beats {
			if got := s.ConsumerBeat(1, &Caller{}, &beats[i], &r); got != c.calm {
				t.Errorf("%s: the short way is taken %v, want %v", c.says, got, c.calm)
			}
		}
	}
}

// An expression may stand for a new topic, also where the new image does not know what
// changed since the last, as after a restore.
func TestNewTopicsOfAnImageWithoutAPast(t *testing.T) {
	s, _ := crowdedConsumers(t, 1)
	q := kmsg.ConsumerGroupHeartbeatRequest{Group: "expressions", MemberID: "m", RebalanceTimeoutMillis: 1000,
		SubscribedTopicRegex: kmsg.StringPtr("n.*"), Topics: []kmsg.ConsumerGroupHeartbeatRequestTopic{}}
	s.Appended(0, s.ConsumerHeartbeat(0, Caller{}, &q), kafka.None)
	restored := func(index uint64, added ...string) *meta.Image {
		e := meta.Empty("c").Edit(index)
		for topic := range s.image.Topics() {
			e.PutTopic(topic)
		}
		for i, name := range added {
			e.PutTopic(&meta.Topic{Name: name, ID: kafka.TopicID{9, byte(i)}, Partitions: make([]meta.Partition, 1)})
		}
		return e.Image()
	}
	before := s.newTopics
	if s.SetImage(restored(20), func() bool { return false }); s.newTopics != before {
		t.Errorf("topics are new since image %d, want %d: none came", s.newTopics, before)
	}
	if s.SetImage(restored(30, "new"), func() bool { return true }); s.newTopics != 30 {
		t.Errorf("topics are new since image %d, want 30", s.newTopics)
	}
}

// BenchmarkSetImage is a new image, in which a topic changed that nobody subscribes to,
// shown to 5,000 groups.
func BenchmarkSetImage(b *testing.B) {
	s, _ := crowdedConsumers(b, 5000)
	last := s.image
	for b.Loop() {
		last = changedImage(last, "other", 2)
		s.SetImage(last, func() bool { return false })
	}
}
