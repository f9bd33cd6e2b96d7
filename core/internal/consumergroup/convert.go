package consumergroup

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// ClassicMember is a member of a group of the classic protocol, on its way between
// the protocols.
type ClassicMember struct {
	ID, Instance, ClientID, Host string
	RebalanceMS, SessionMS       int32
	Protocols                    []Protocol
	Metadata                     []byte // under the group's protocol
	Assignment                   []byte
}

// FromClassic makes a group of one of the classic protocol that has members (online
// upgrade). stable says that nobody is about to join. If not, or if nobody has some
// partition, the next heartbeat begins an epoch even if it brings nothing new. (Kafka
// does not look: who came last, or what came last, could stay alone.) The changes are
// what is to be written about the group; it has them already.
func FromClassic(id string, generation int32, stable bool, members []ClassicMember, img *meta.Image) (*Group, []Change, *kafka.Error) {
	g := New(id)
	var list []*Member
	for i := range members {
		m, err := upgraded(id, &members[i], generation, img)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, m)
	}
	var changes []Change
	do := func(c Change) {
		g.Apply(c)
		changes = append(changes, c)
	}
	for _, m := range list {
		do(setMember{m})
	}
	hash := int64(0)
	if stable && coverAll(list, g.names, img) {
		hash = hashTopics(g.names, img)
	}
	do(setEpoch{generation, hash})
	for _, m := range list {
		do(setTarget{m.ID, m.Assigned.plain()})
	}
	do(setTargetEpoch{generation, 0})
	for _, m := range list {
		do(setCurrent{m})
	}
	return g, changes, nil
}

// coverAll reports whether members have every partition that they subscribe to.
func coverAll(members []*Member, names map[string]subscribers, img *meta.Image) bool {
	have := Owned{}
	for _, m := range members {
		for topic, partitions := range m.Assigned {
			for p := range partitions {
				have.set(topic, p, 0)
			}
		}
	}
	for name := range names {
		if t, ok := img.Topic(name); ok && len(have[t.ID]) < len(t.Partitions) {
			return false
		}
	}
	return true
}

// upgraded is a member of the classic protocol in a group of the other one.
func upgraded(id string, c *ClassicMember, generation int32, img *meta.Image) (*Member, *kafka.Error) {
	assigned, ours, ok := parseAssignment(c.Assignment, img)
	said, readable := parseSubscription(c.Metadata)
	switch {
	case !ok || ours && !readable:
		return nil, kafka.ErrGroupIDNotFound.Err(fmt.Sprintf("Cannot upgrade classic group %s to consumer group because the embedded consumer protocol is malformed.", id))
	case !ours:
		return nil, kafka.ErrGroupIDNotFound.Err(fmt.Sprintf("Cannot upgrade classic group %s to consumer group because an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor before re-attempting the upgrade.", id))
	}
	return &Member{ID: c.ID, Instance: c.Instance, Rack: said.rack, ClientID: c.ClientID, Host: c.Host, RebalanceMS: c.RebalanceMS,
		Topics: said.topics, Classic: &Classic{SessionMS: c.SessionMS, Protocols: c.Protocols},
		Epoch: generation, Previous: generation, Assigned: assigned.at(generation)}, nil
}

// ToClassic gives the members of a group that turns to the classic protocol (online
// downgrade), with what they should have, and what deletes it. Some members leave;
// joining, if not nil, takes the place of the one with the id replaced.
func (g *Group) ToClassic(gone []*Member, joining *Member, replaced string, img *meta.Image) ([]ClassicMember, []Change) {
	var members []ClassicMember
	for _, m := range g.Members() {
		if m.ID != replaced && !slices.Contains(gone, m) {
			members = append(members, downgraded(m, g.target[m.ID], img))
		}
	}
	if joining == nil {
		return members, g.Tombstones()
	}
	members = append(members, downgraded(joining, g.target[replaced], img))
	return members, g.tombstones(replaced, joining.ID)
}

// downgraded is a classic member as a group of its protocol has it. The assignment is
// in the version of its first protocol; members of one group speak the same.
func downgraded(m *Member, target Assignment, img *meta.Image) ClassicMember {
	metadata := m.Classic.Protocols[0].Metadata
	return ClassicMember{ID: m.ID, Instance: m.Instance, ClientID: m.ClientID, Host: m.Host, RebalanceMS: m.RebalanceMS,
		SessionMS: m.Classic.SessionMS, Protocols: m.Classic.Protocols, Metadata: metadata, Assignment: EncodeAssignment(target, metadata, img)}
}
