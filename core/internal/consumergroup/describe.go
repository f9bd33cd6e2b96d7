package consumergroup

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Kinds of members in ConsumerGroupDescribe.
const (
	memberClassic  = 0
	memberConsumer = 1
)

// Describe is the group in an answer to ConsumerGroupDescribe.
func (g *Group) Describe(rules *Rules, img *meta.Image) kmsg.ConsumerGroupDescribeResponseGroup {
	r := kmsg.NewConsumerGroupDescribeResponseGroup()
	r.Group, r.State, r.Epoch, r.AssignmentEpoch = g.id, g.State(), g.epoch, g.targetEpoch
	r.AssignorName = g.preferred(rules, nil, nil)
	for _, m := range g.Members() {
		d := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		d.MemberID, d.InstanceID, d.RackID, d.MemberEpoch = m.ID, orNull(m.Instance), orNull(m.Rack), m.Epoch
		d.ClientID, d.ClientHost = m.ClientID, m.Host
		d.SubscribedTopics, d.SubscribedTopicRegex = m.Topics, &m.Regex
		d.Assignment = shown(merged(m.Assigned, m.Revoking), img)
		d.TargetAssignment = shown(g.target[m.ID], img)
		d.MemberType = memberConsumer
		if m.Classic != nil {
			d.MemberType = memberClassic
		}
		r.Members = append(r.Members, d)
	}
	return r
}

// merged are the partitions that a member has, and still has.
func merged(a, b Owned) Assignment {
	all := Owned{}
	for _, o := range [...]Owned{a, b} {
		for topic, partitions := range o {
			for p, e := range partitions {
				all.set(topic, p, e)
			}
		}
	}
	return all.plain()
}

// shown is an assignment with names, of topics that exist.
func shown(a Assignment, img *meta.Image) (out kmsg.Assignment) {
	for _, id := range topicOrder(a) {
		if t, ok := img.TopicByID(id); ok {
			out.TopicPartitions = append(out.TopicPartitions, kmsg.AssignmentTopicPartition{TopicID: [16]byte(id), Topic: t.Name, Partitions: a[id]})
		}
	}
	return out
}

// Answer is the member's part of an answer to ConsumerGroupHeartbeat.
func (m *Member) Answer(r *kmsg.ConsumerGroupHeartbeatResponse, rules *Rules) {
	r.MemberID, r.MemberEpoch, r.HeartbeatIntervalMillis = &m.ID, m.Epoch, rules.HeartbeatMS
}

// Show adds what the member has to an answer to ConsumerGroupHeartbeat.
func (m *Member) Show(r *kmsg.ConsumerGroupHeartbeatResponse) {
	a := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
	plain := m.Assigned.plain()
	for _, id := range topicOrder(plain) {
		t := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
		t.TopicID, t.Partitions = [16]byte(id), plain[kafka.TopicID(id)]
		a.Topics = append(a.Topics, t)
	}
	r.Assignment = &a
}
