package assignor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
)

// nobody is the owner of a partition that has none.
const nobody = -1

// plan is an assignment in the making. Members and topics are numbered in the order
// of their ids.
type plan struct {
	members []Member
	topics  []topicPlan
	index   map[kafka.TopicID]int // numbers of topics
	sizes   []int                 // by member: how many partitions it owns
}

// topicPlan is one topic that somebody subscribes to.
type topicPlan struct {
	Topic
	subscribers []int // member numbers, ascending
	owners      []int // by partition: member number or nobody
}

// seat is one partition of the topic with that number.
type seat struct {
	topic     int
	partition int32
}

// newPlan sorts members and numbers their topics. Nothing has an owner yet.
func newPlan(members []Member, topics map[kafka.TopicID]Topic) (*plan, error) {
	p := &plan{
		members: slices.SortedFunc(slices.Values(members), func(a, b Member) int { return strings.Compare(a.ID, b.ID) }),
		index:   make(map[kafka.TopicID]int),
		sizes:   make([]int, len(members)),
	}
	ids, err := subscribed(members, topics)
	if err != nil {
		return nil, err
	}
	p.topics = make([]topicPlan, len(ids))
	for i, id := range ids {
		p.index[id] = i
		p.topics[i] = topicPlan{Topic: topics[id], owners: slices.Repeat([]int{nobody}, int(topics[id].Partitions))}
	}
	for m := range p.members {
		for _, id := range p.members[m].Topics {
			t := &p.topics[p.index[id]]
			t.subscribers = append(t.subscribers, m)
		}
	}
	return p, nil
}

// subscribed lists the topics that anybody subscribes to in the order of their ids.
func subscribed(members []Member, topics map[kafka.TopicID]Topic) ([]kafka.TopicID, error) {
	seen := make(map[kafka.TopicID]struct{})
	var ids []kafka.TopicID
	for _, m := range members {
		for _, id := range m.Topics {
			if _, ok := seen[id]; ok {
				continue
			}
			if _, ok := topics[id]; !ok {
				return nil, fmt.Errorf("member %s, topic %s: %w", m.ID, id, ErrUnknownTopic)
			}
			seen[id] = struct{}{}
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, kafka.TopicID.Compare)
	return ids, nil
}

// homogeneous says whether all members subscribe to the same topics.
func (p *plan) homogeneous() bool {
	for _, m := range p.members[1:] {
		if !slices.Equal(m.Topics, p.members[0].Topics) {
			return false
		}
	}
	return true
}

// claims lists by member the partitions of its current target that it may keep, in
// the order of topics and partitions, and makes it their owner.
func (p *plan) claims() [][]seat {
	claims := make([][]seat, len(p.members))
	for m, member := range p.members {
		for _, id := range slices.SortedFunc(maps.Keys(member.Current), kafka.TopicID.Compare) {
			if _, ok := slices.BinarySearchFunc(member.Topics, id, kafka.TopicID.Compare); !ok {
				continue
			}
			topic := p.index[id]
			for _, partition := range slices.Sorted(slices.Values(member.Current[id])) {
				if p.claimable(topic, partition) {
					p.give(seat{topic, partition}, m)
					claims[m] = append(claims[m], seat{topic, partition})
				}
			}
		}
	}
	return claims
}

// claimable says whether a partition exists and has no owner.
func (p *plan) claimable(topic int, partition int32) bool {
	owners := p.topics[topic].owners
	return partition >= 0 && int(partition) < len(owners) && owners[partition] == nobody
}

// give makes a member the owner of a partition and takes it from who had it.
func (p *plan) give(s seat, member int) {
	p.take(s)
	p.topics[s.topic].owners[s.partition] = member
	p.sizes[member]++
}

// take leaves a partition without an owner.
func (p *plan) take(s seat) {
	owners := p.topics[s.topic].owners
	if old := owners[s.partition]; old != nobody {
		p.sizes[old]--
	}
	owners[s.partition] = nobody
}

// unowned lists the partitions of a topic that nobody owns, ascending.
func (p *plan) unowned(topic int) []seat {
	var free []seat
	for partition, owner := range p.topics[topic].owners {
		if owner == nobody {
			free = append(free, seat{topic, int32(partition)})
		}
	}
	return free
}

// result is the plan in the form that callers want.
func (p *plan) result() Assignment {
	all := make(Assignment, len(p.members))
	for _, m := range p.members {
		all[m.ID] = make(map[kafka.TopicID][]int32)
	}
	for _, t := range p.topics {
		for partition, owner := range t.owners {
			mine := all[p.members[owner].ID]
			mine[t.ID] = append(mine[t.ID], int32(partition))
		}
	}
	return all
}
