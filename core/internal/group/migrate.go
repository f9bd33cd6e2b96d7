package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/kafka"
)

// upgrade makes a group of the consumer protocol of one of the classic protocol that
// has members, because one of the other protocol joins.
func (s *State) upgrade(t *take) *kafka.Error {
	g := t.from
	rules := s.rulesOf(g.id)
	refuse := func(why string) *kafka.Error {
		return kafka.ErrGroupIDNotFound.Err("Cannot upgrade classic group " + g.id + " to consumer group because " + why)
	}
	switch {
	case !rules.Migration.Upgrade:
		return refuse("online upgrade is disabled.")
	case !g.isConsumers():
		return refuse("the group does not use the consumer embedded protocol.")
	case len(g.order) > rules.MaxSize:
		return refuse("the group size exceeds the consumer group maximum size.")
	}
	protocol := g.protocol
	if protocol == nil { // it is in its first rebalance; Kafka fails here
		vote := g.vote()
		protocol = &vote
	}
	members := make([]consumergroup.ClassicMember, len(g.order))
	for i, m := range g.order {
		members[i] = consumergroup.ClassicMember{ID: m.id, ClientID: m.clientID, Host: m.host, RebalanceMS: m.rebalanceMS,
			SessionMS: m.sessionMS, Metadata: m.metadata(protocol), Assignment: m.assignment}
		if m.instance != nil {
			members[i].Instance = *m.instance
		}
		for _, p := range m.protocols {
			members[i].Protocols = append(members[i].Protocols, consumergroup.Protocol{Name: p.Name, Metadata: p.Metadata})
		}
	}
	c, changes, err := consumergroup.FromClassic(g.id, g.generation, g.phase == Stable, members, s.image)
	if err != nil {
		return err
	}
	t.c, t.log = c, []Record{groupTombstone(g.id)}
	for _, change := range changes {
		t.log = append(t.log, Record{Key: change.Key(g.id), Value: change.Value()})
	}
	return nil
}

// watchUpgraded begins the sessions of classic members that came along.
func (s *State) watchUpgraded(g *Group, now int64) {
	for _, m := range g.consumers.Members() {
		if m.Classic != nil {
			s.timers.set(&g.watch(m.ID).session, now+int64(m.Classic.SessionMS))
		}
	}
}

// downgrade makes a group of the classic protocol of one of the consumer protocol.
// Some members leave; joining, if not nil, takes the place of the member with the id
// replaced. rebalance has everybody join again.
func (s *State) downgrade(g *Group, gone []*consumergroup.Member, joining *consumergroup.Member, replaced string, rebalance bool, now int64, out *Output) {
	members, changes := g.consumers.ToClassic(gone, joining, replaced, s.image)
	next := newGroup(g.id, now)
	next.phase, next.generation = Stable, g.consumers.Epoch()
	for i := range members {
		next.add(classicMember(&members[i]))
	}
	protocol := next.vote()
	next.protocol = &protocol
	next.readTopics()
	out.write(g.id, changes)
	out.Records = append(out.Records, groupRecord(next, nil))
	out.applied = func(now int64, out *Output) {
		for id := range g.watches {
			s.unwatch(g, id)
		}
		next.offsets, g.offsets = g.offsets, nil
		s.groups[g.id] = next
		for _, m := range next.order {
			s.heard(m, now)
		}
		if rebalance {
			s.prepareRebalance(next, now, out)
		}
	}
}

// classicMember is a member of a group of the classic protocol.
func classicMember(c *consumergroup.ClassicMember) *member {
	m := &member{id: c.ID, clientID: c.ClientID, host: c.Host, sessionMS: c.SessionMS, rebalanceMS: c.RebalanceMS,
		protocolType: consumergroup.ProtocolType, assignment: c.Assignment}
	if c.Instance != "" {
		m.instance = &c.Instance
	}
	for _, p := range c.Protocols {
		m.protocols = append(m.protocols, kmsg.JoinGroupRequestProtocol{Name: p.Name, Metadata: p.Metadata})
	}
	return m
}
