package metadata

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/seeded"
)

// What must hold of every partition whatever is decided. The story has topics with
// three replicas and four brokers that come, go and crash.
func TestInvariantsOfPartitions(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		s := newStory(rt)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			before := s.image
			s.step()
			for id, now := range partitionsOf(s.image) {
				old, existed := partitionsOf(before)[id]
				if why := broken(s.image, now); why != "" {
					rt.Fatalf("%v: %s: %+v", id, why, now)
				}
				if why := s.wentBack(id, old, now); existed && why != "" {
					rt.Fatalf("%v: %s: from %+v to %+v", id, why, old, now)
				}
			}
			if want := leaderless(s.image); s.image.Leaderless() != want {
				rt.Fatalf("%d partitions without a leader are counted, there are %d", s.image.Leaderless(), want)
			}
			if why := forgotten(before, s.image); why != "" {
				rt.Fatal(why)
			}
		}
	})
}

// broken says what is wrong with a partition; empty: nothing.
func broken(i *meta.Image, p meta.Partition) string {
	serves := func(id kafka.BrokerID) bool { b, ok := i.Broker(id); return ok && !b.Fenced }
	for _, id := range p.ISR {
		if !slices.Contains(p.Replicas, id) || !serves(id) {
			return fmt.Sprintf("%d is in the ISR and no replica that serves", id)
		}
	}
	for _, id := range p.ELR {
		if !slices.Contains(p.Replicas, id) || slices.Contains(p.ISR, id) {
			return fmt.Sprintf("%d is in the ELR, and in the ISR or no replica", id)
		}
	}
	for _, list := range [][]kafka.BrokerID{p.Replicas, p.ISR, p.ELR} {
		if sorted := slices.Sorted(slices.Values(list)); len(slices.Compact(sorted)) != len(list) {
			return "a broker is in a list twice"
		}
	}
	switch {
	case p.Leader != kafka.NoBroker && !slices.Contains(p.ISR, p.Leader):
		return "the leader is not in the ISR"
	case p.Leader != kafka.NoBroker && p.LastKnownLeader != kafka.NoBroker:
		return "there is a last known leader beside a leader"
	case p.Leader == kafka.NoBroker && slices.ContainsFunc(p.ISR, func(id kafka.BrokerID) bool { b, _ := i.Broker(id); return b.Active() }):
		return "nobody leads, but somebody in sync could"
	}
	return ""
}

// wentBack says what a partition must not have become; empty: nothing.
func (s *story) wentBack(id meta.PartitionID, old, now meta.Partition) string {
	if now.Leader != kafka.NoBroker {
		key := leadership{id, now.LeaderEpoch}
		if other, ok := s.led[key]; ok && other != now.Leader {
			return fmt.Sprintf("epoch %d had the leader %d already", now.LeaderEpoch, other)
		}
		s.led[key] = now.Leader
	}
	same := old.PartitionEpoch == now.PartitionEpoch
	old.PartitionEpoch = now.PartitionEpoch
	switch {
	case now.LeaderEpoch < old.LeaderEpoch:
		return "the leader epoch went back"
	case now.Leader != old.Leader && now.LeaderEpoch == old.LeaderEpoch:
		return "another leader has the same epoch"
	case same && fmt.Sprint(old) != fmt.Sprint(now):
		return "it changed without another partition epoch"
	case !same && fmt.Sprint(old) == fmt.Sprint(now):
		return "it has another partition epoch and did not change"
	}
	return ""
}

// forgotten says which replica the image does not find by its broker, or which topic
// changed without the image's knowing; empty: none.
func forgotten(before, i *meta.Image) string {
	on := map[kafka.BrokerID][]meta.PartitionID{}
	for id := range kafka.BrokerID(storyBrokers + 1) {
		on[id] = slices.Collect(i.PartitionsOn(id))
	}
	for at, p := range partitionsOf(i) {
		for id, found := range on {
			if slices.Contains(found, at) != slices.Contains(p.Replicas, id) {
				return fmt.Sprintf("%v has the replicas %v, on %d are %v", at, p.Replicas, id, found)
			}
		}
	}
	ids, known := i.ChangedSince(before)
	for t := range i.Topics() {
		if was, _ := before.TopicByID(t.ID); was != t && (!known || !slices.Contains(ids, t.ID)) {
			return fmt.Sprintf("%s changed, the image knows of %v, %v", t.Name, ids, known)
		}
	}
	return ""
}

// leadership is what at most one broker has.
type leadership struct {
	id    meta.PartitionID
	epoch kafka.LeaderEpoch
}

func partitionsOf(i *meta.Image) map[meta.PartitionID]meta.Partition {
	all := map[meta.PartitionID]meta.Partition{}
	for t := range i.Topics() {
		for n, p := range t.Partitions {
			all[meta.PartitionID{Topic: t.ID, Partition: int32(n)}] = p
		}
	}
	return all
}

func leaderless(i *meta.Image) (n int) {
	for _, p := range partitionsOf(i) {
		if p.Leader == kafka.NoBroker {
			n++
		}
	}
	return n
}

// story is a cluster to which things happen.
type story struct {
	t     *rapid.T
	image *meta.Image
	led   map[leadership]kafka.BrokerID
}

// storyBrokers is how many brokers a story has, with ids from 1.
const storyBrokers = 4

// newStory has a topic with the least ISR of 2, and one with 1 that may elect
// uncleanly.
func newStory(t *rapid.T) *story {
	s := &story{t: t, image: meta.Empty("c"), led: map[leadership]kafka.BrokerID{}}
	for id := range storyBrokers {
		s.do(&RegisterBroker{ID: kafka.BrokerID(id + 1), CleanShutdown: true})
	}
	s.do(&CreateTopics{Topics: []NewTopic{
		{Name: "safe", ID: topicID(1), Assignment: [][]kafka.BrokerID{{1, 2, 3}, {2, 3, 4}}, Configs: map[string]string{meta.MinISRConfig: "2"}},
		{Name: "loose", ID: topicID(2), Assignment: [][]kafka.BrokerID{{1, 2, 3}}, Configs: map[string]string{meta.UncleanElectionConfig: "true"}},
		{Name: "alone", ID: topicID(3), Assignment: [][]kafka.BrokerID{{2}}},
	}})
	return s
}

func (s *story) do(c Command) Result {
	next, r := Apply(s.image, s.image.Index+1, c)
	s.image = next
	return r
}

// step lets something happen, mostly something that can.
func (s *story) step() Command {
	c := s.draw()
	s.do(c)
	return c
}

// draw chooses what happens next.
func (s *story) draw() Command {
	id := kafka.BrokerID(rapid.IntRange(1, storyBrokers).Draw(s.t, "broker"))
	var epoch kafka.BrokerEpoch
	if b, ok := s.image.Broker(id); ok {
		epoch = b.Epoch
	}
	switch rapid.IntRange(0, 12).Draw(s.t, "what") {
	case 0:
		return &RegisterBroker{ID: id, CleanShutdown: true, PreviousEpoch: epoch}
	case 1:
		return &RegisterBroker{ID: id}
	case 2, 3:
		return &FenceBroker{ID: id, Epoch: epoch}
	case 4, 5:
		return &UnfenceBroker{ID: id, Epoch: epoch}
	case 6:
		return &BeginShutdown{ID: id, Epoch: epoch}
	case 7:
		return &ElectLeaders{Kind: meta.ElectionKind(rapid.IntRange(0, 1).Draw(s.t, "kind")), All: true}
	case 8:
		return s.drawReassignment()
	case 9:
		return s.drawConfig()
	case 10:
		return &SetFull{ID: id, Epoch: epoch, Full: rapid.Bool().Draw(s.t, "full")}
	default:
		return s.drawISR()
	}
}

// drawPartition chooses a partition.
func (s *story) drawPartition() (meta.PartitionID, meta.Partition) {
	n := rapid.IntRange(0, 3).Draw(s.t, "partition")
	id := []meta.PartitionID{{Topic: topicID(1)}, {Topic: topicID(1), Partition: 1}, {Topic: topicID(2)}, {Topic: topicID(3)}}[n]
	return id, partitionsOf(s.image)[id]
}

// drawISR is what the leader of a partition may ask for.
func (s *story) drawISR() Command {
	id, p := s.drawPartition()
	c := ISRChange{Topic: id.Topic, Partition: id.Partition, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Recovered: true}
	for _, replica := range p.Replicas {
		if replica == p.Leader || rapid.Bool().Draw(s.t, "in sync") {
			c.ISR = append(c.ISR, ISRReplica{ID: replica, Epoch: -1})
		}
	}
	from := p.Leader
	switch rapid.IntRange(0, 5).Draw(s.t, "leaves") {
	case 0:
		c.ISR, c.Failed = nil, true
		from = rapid.SampledFrom(p.Replicas).Draw(s.t, "failed copy")
	case 1:
		c.ISR, c.Full = nil, true
		from = rapid.SampledFrom(p.Replicas).Draw(s.t, "copy without room")
	}
	var epoch kafka.BrokerEpoch
	if b, ok := s.image.Broker(from); ok {
		epoch = b.Epoch
	}
	return &AlterISR{From: from, Epoch: epoch, Changes: []ISRChange{c}}
}

func (s *story) drawReassignment() Command {
	id, _ := s.drawPartition()
	r := Reassignment{Topic: id.Topic, Partition: id.Partition}
	if rapid.IntRange(0, 2).Draw(s.t, "cancel") > 0 {
		r.Replicas = rapid.SliceOfNDistinct(rapid.Map(rapid.Int32Range(1, storyBrokers), func(n int32) kafka.BrokerID { return kafka.BrokerID(n) }),
			1, storyBrokers, rapid.ID[kafka.BrokerID]).Draw(s.t, "replicas")
	}
	return &AlterReassignments{Changes: []Reassignment{r}}
}

func (s *story) drawConfig() Command {
	r := meta.Resource{Type: meta.ResourceTopic, Name: "safe"}
	value := fmt.Sprint(rapid.IntRange(1, 3).Draw(s.t, "min.insync.replicas"))
	return &AlterConfigs{Changes: []ConfigChange{{Type: r.Type, Name: r.Name, Previous: s.image.Config(r), Values: map[string]string{meta.MinISRConfig: value}}}}
}
