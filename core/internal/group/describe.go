package group

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// typeClassic is the group type of all groups here, in ListGroups.
const typeClassic = "classic"

// Describe answers for one group in DescribeGroups. Assignments are shown of a
// stable group only. An unknown group is Dead; from version 6 on it is also an
// error (KIP-1043).
func (s *State) Describe(id string, version int16) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewDescribeGroupsResponseGroup()
	r.Group = id
	g := s.groups[id]
	if g == nil {
		r.State = Dead.String()
		if version >= 6 {
			r.ErrorCode = int16(kafka.ErrGroupIDNotFound)
			r.ErrorMessage = kmsg.StringPtr("Group " + id + " not found.")
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
		d.ProtocolMetadata, d.MemberAssignment = []byte{}, []byte{}
		if stable {
			d.ProtocolMetadata, d.MemberAssignment = m.metadata(g.protocol), append([]byte{}, m.assignment...)
		}
		r.Members = append(r.Members, d)
	}
	return r
}

// List lists the groups in any of the states and of any of the types; an empty
// filter lets all through. Case does not count.
func (s *State) List(states, types []string) (all []kmsg.ListGroupsResponseGroup) {
	if !passes(types, typeClassic) {
		return nil
	}
	for _, g := range s.groups {
		if !passes(states, g.phase.String()) {
			continue
		}
		r := kmsg.NewListGroupsResponseGroup()
		r.Group, r.ProtocolType, r.GroupState, r.GroupType = g.id, g.protocolType, g.phase.String(), typeClassic
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
