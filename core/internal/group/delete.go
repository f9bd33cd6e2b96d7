package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// sweepRecordsMax bounds the deletions of one batch. What is left is done at once
// afterwards.
const sweepRecordsMax = 1000

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
	var cuts []cut
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
				cuts = append(cuts, cut{g, t.Topic, p})
			}
			answer.Partitions = append(answer.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: p, ErrorCode: int16(code)})
		}
		r.Topics = append(r.Topics, answer)
	}
	out.reply(to, r)
	s.cut(cuts, &out)
	return out
}

// cut is one offset to delete.
type cut struct {
	group     *Group
	topic     string
	partition int32
}

// cut has offsets deleted.
func (s *State) cut(cuts []cut, out *Output) {
	for _, c := range cuts {
		out.Records = append(out.Records, offsetTombstone(c.group.id, c.topic, c.partition))
	}
	out.applied = func(int64, *Output) {
		for _, c := range cuts {
			s.removeOffset(c.group, c.topic, c.partition)
		}
	}
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
	var cuts []cut
	for _, g := range s.groups {
		for partition, o := range g.offsets[topic] {
			if keep != kafka.NoTopicID && o.TopicID == keep {
				continue
			}
			if cuts = append(cuts, cut{g, topic, partition}); len(cuts) == sweepRecordsMax {
				s.cut(cuts, &out)
				return out
			}
		}
	}
	s.cut(cuts, &out)
	return out
}

// expireOffsets deletes what has been kept long enough, and groups that have
// nothing left.
func (s *State) expireOffsets(now int64) (out Output) {
	var cuts []cut
	var gone []*Group
	for _, g := range s.groups {
		if len(cuts)+len(gone) >= sweepRecordsMax {
			s.timers.set(&s.sweep, now) // the rest right afterwards
			break
		}
		var all bool
		if cuts, all = s.expired(g, now, cuts); all && g.empty() && len(g.pending) == 0 {
			gone = append(gone, g)
		}
	}
	s.cut(cuts, &out)
	for _, g := range gone {
		out.Records = g.tombstone(out.Records)
	}
	removeOffsets := out.applied
	out.applied = func(now int64, next *Output) {
		removeOffsets(now, next)
		for _, g := range gone {
			s.drop(g)
		}
	}
	return out
}

// expired collects the expired offsets of a group; all: that is every one it has.
// Offsets of a group with members count from the commit, and only of topics that
// nobody reads; of an empty one from when it became empty; of one that never had
// members, or is of the consumer protocol, from the commit.
func (s *State) expired(g *Group, now int64, cuts []cut) (_ []cut, all bool) {
	if len(g.offsets) == 0 {
		return cuts, true
	}
	empty := g.protocolType != "" && g.phase == Empty && g.consumers == nil
	if g.protocolType != "" && !empty && !(g.isConsumers() && g.topicsKnown && g.phase == Stable) {
		return cuts, false
	}
	all = true
	for topic, partitions := range g.offsets {
		if g.subscribes(topic) {
			all = false
			continue
		}
		for partition, o := range partitions {
			from := o.CommitMS
			if empty && g.since != unknownSince {
				from = g.since
			}
			if o.ExpireMS != noExpiry && now < o.ExpireMS || o.ExpireMS == noExpiry && now-from < s.config.RetentionMS {
				all = false
				continue
			}
			cuts = append(cuts, cut{g, topic, partition})
		}
	}
	return cuts, all
}
