package group

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/kafka"
)

// The types of groups, in ListGroups.
const (
	typeClassic  = "classic"
	typeConsumer = "consumer"
)

// kind is the type of a group.
func (g *Group) kind() string {
	if g.consumers != nil {
		return typeConsumer
	}
	return typeClassic
}

// Describe answers for one group in DescribeGroups. Metadata are shown of a stable
// group only. An unknown group, or one of the consumer protocol, is Dead; from
// version 6 on that is also an error (KIP-1043).
func (s *State) Describe(id string, version int16) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewDescribeGroupsResponseGroup()
	r.Group = id
	g := s.groups[id]
	if g == nil || g.consumers != nil {
		r.State = Dead.String()
		if version >= 6 {
			r.ErrorCode = int16(kafka.ErrGroupIDNotFound)
			r.ErrorMessage = kmsg.StringPtr("Group " + id + " not found.")
			if g != nil {
				r.ErrorMessage = kmsg.StringPtr("Group " + id + " is not a classic group.")
			}
		}
		return r
	}
	r.State, r.ProtocolType = g.phase.String(), g.protocolType
	stable := g.phase == Stable
	if stable && g.protocol != nil {
		r.Protocol = *g.protocol
	}
	for _, m := range g.order {
		d := kmsg.NewDescribeGroupsResponseGroupMember()
		d.MemberID, d.InstanceID, d.ClientID, d.ClientHost = m.id, m.instance, m.clientID, m.host
		d.ProtocolMetadata, d.MemberAssignment = []byte{}, append([]byte{}, m.assignment...)
		if stable {
			d.ProtocolMetadata = m.metadata(g.protocol)
		}
		r.Members = append(r.Members, d)
	}
	return r
}

// DescribeConsumers answers for one group in ConsumerGroupDescribe.
func (s *State) DescribeConsumers(now int64, id string) kmsg.ConsumerGroupDescribeResponseGroup {
	g := s.groups[id]
	if g != nil && g.consumers != nil {
		return g.consumers.Describe(s.env(id, now).Rules, s.image)
	}
	r := kmsg.NewConsumerGroupDescribeResponseGroup()
	err := kafka.ErrGroupIDNotFound.Err("Group " + id + " not found.")
	if g != nil {
		err = notConsumers(id)
	}
	r.Group, r.ErrorCode, r.ErrorMessage = id, int16(err.Code), &err.Message
	return r
}

// List lists the groups in any of the states and of any of the types; an empty
// filter lets all through. Case does not count.
func (s *State) List(states, types []string) (all []kmsg.ListGroupsResponseGroup) {
	for _, g := range s.groups {
		state, kind := g.state(), g.kind()
		if !passes(types, kind) || !passes(states, state) {
			continue
		}
		r := kmsg.NewListGroupsResponseGroup()
		r.Group, r.ProtocolType, r.GroupState, r.GroupType = g.id, g.protocolType, state, kind
		if g.consumers != nil {
			r.ProtocolType = consumergroup.ProtocolType
		}
		all = append(all, r)
	}
	return all
}

// passes reports whether a filter lets a value through.
func passes(filter []string, value string) bool {
	for _, f := range filter {
		if strings.EqualFold(strings.TrimSpace(f), value) {
			return true
		}
	}
	return len(filter) == 0
}
