package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// Delete handles DeleteGroups for the groups of this partition: only groups without
// members.
func (s *State) Delete(to Ticket, ids []string) (out Output) {
	r := kmsg.NewPtrDeleteGroupsResponse()
	var gone []*Group
	for _, id := range ids {
		result := kmsg.NewDeleteGroupsResponseGroup()
		result.Group = id
		switch g := s.groups[id]; {
		case g == nil:
			result.ErrorCode = int16(kafka.ErrGroupIDNotFound)
		case !g.empty():
			result.ErrorCode = int16(kafka.ErrNonEmptyGroup)
		default:
			out.Records = g.tombstones(out.Records)
			gone = append(gone, g)
		}
		r.Groups = append(r.Groups, result)
	}
	out.reply(to, r)
	out.applied = func(int64, *Output) {
		for _, g := range gone {
			s.drop(g)
		}
	}
	return out
}

// tombstones deletes the offsets and then the group.
func (g *Group) tombstones(records []Record) []Record {
	for topic, partitions := range g.offsets {
		for partition := range partitions {
			records = append(records, offsetTombstone(g.id, topic, partition))
		}
	}
	return g.tombstone(records)
}

// tombstone deletes the group, which has no offsets.
func (g *Group) tombstone(records []Record) []Record {
	if g.consumers == nil {
		return append(records, groupTombstone(g.id))
	}
	for _, c := range g.consumers.Tombstones() {
		records = append(records, Record{Key: c.Key(g.id), Value: c.Value()})
	}
	return records
}

// DeleteOffsets handles OffsetDelete. Topics that members read are refused.
func (s *State) DeleteOffsets(to Ticket, q *kmsg.OffsetDeleteRequest) (out Output) {
	r := kmsg.NewPtrOffsetDeleteResponse()
	g := s.groups[q.Group]
	switch {
	case g == nil:
		r.ErrorCode = int16(kafka.ErrGroupIDNotFound)
	case g.consumers == nil && g.phase != Empty && !g.isConsumers():
		r.ErrorCode = int16(kafka.ErrNonEmptyGroup)
	}
	if r.ErrorCode != 0 {
		out.reply(to, r)
		return out
	}
	var w sweep
	for i := range q.Topics {
		t := &q.Topics[i]
		answer := kmsg.OffsetDeleteResponseTopic{Topic: t.Topic}
		code := kafka.None
		if g.subscribes(t.Topic) {
			code = kafka.ErrGroupSubscribedToTopic
		}
		for j := range t.Partitions {
			p := t.Partitions[j].Partition
			if _, ok := g.offsets[t.Topic][p]; ok && code == kafka.None {
				w.cut(g, t.Topic, p)
			}
			answer.Partitions = append(answer.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: p, ErrorCode: int16(code)})
		}
		r.Topics = append(r.Topics, answer)
	}
	out.reply(to, r)
	s.begin(&w, &out)
	return out
}

// Topics calls yield with each topic that a group has offsets of.
func (s *State) Topics(yield func(string) bool) {
	for topic := range s.topics {
		if !yield(topic) {
			return
		}
	}
}

// TopicDeleted deletes the offsets of a topic that is gone, but for those that were
// committed for another one with its name: keep is its id, or NoTopicID. Call it until
// it has no Records.
func (s *State) TopicDeleted(topic string, keep kafka.TopicID) (out Output) {
	if s.topics[topic] == 0 {
		return out
	}
	var w sweep
	for _, g := range s.groups {
		for partition, o := range g.offsets[topic] {
			if keep != kafka.NoTopicID && o.TopicID == keep {
				continue
			}
			if w.cut(g, topic, partition); w.full() {
				s.begin(&w, &out)
				return out
			}
		}
	}
	s.begin(&w, &out)
	return out
}
