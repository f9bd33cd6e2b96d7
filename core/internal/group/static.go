package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// replaceStatic lets a new process take over a static member (KIP-345): it gets a
// new member id, and what the old one still waits for is fenced. In a stable group
// whose protocol stays the same nobody has to rebalance.
func (s *State) replaceStatic(g *Group, old *member, id string, now int64, by *Caller, q *kmsg.JoinGroupRequest, out *Output) {
	leaderBefore, before := g.leader, *old
	s.answerJoin(g, old, fencedJoin(old.id), out)
	s.answerSync(old, syncRefusal(kafka.ErrFencedInstanceID), out)
	m := s.rename(g, old, id)
	g.count(m, -1)
	m.update(q)
	g.count(m, 1)
	m.join = by.Ticket
	m.fresh = false // as in Kafka: it waits for its answer however long that takes
	g.awaitingJoin++
	s.heard(m, now)
	switch {
	case g.phase == CompletingRebalance: // the leader assigns to the old id
		s.prepareRebalance(g, now, out)
	case g.phase == Stable && g.protocol != nil && *g.protocol == g.vote():
		s.keepGeneration(g, m, &before, leaderBefore, by, out)
	case g.phase == Stable:
		s.rebalance(g, now, out)
	default:
		s.completeJoinPhase(g, now, out)
	}
}

// fencedJoin is the answer to whoever was replaced.
func fencedJoin(id string) *kmsg.JoinGroupResponse { return joinRefusal(id, kafka.ErrFencedInstanceID) }

// rename gives a member another id, in its place.
func (s *State) rename(g *Group, m *member, id string) *member {
	s.timers.cancel(&m.session)
	delete(g.members, m.id)
	delete(g.unsynced, m.id)
	if g.leader == m.id {
		g.leader = id
	}
	m.id, m.session.member = id, id
	g.members[id] = m
	return m
}

// keepGeneration writes the group with the new member id and answers with the
// generation as it is. The leader is told not to assign again (KIP-814); clients
// that don't know that are told that the old id leads, which nobody is.
func (s *State) keepGeneration(g *Group, m *member, before *member, leaderBefore string, by *Caller, out *Output) {
	out.Records = append(out.Records, groupRecord(g, nil))
	version, waits := by.Version, m.join
	r := g.joined(m)
	if version >= 9 {
		r.SkipAssignment = g.leader == m.id
	} else {
		r.LeaderID, r.Members = leaderBefore, nil
	}
	m.join = nil
	g.awaitingJoin--
	out.reply(waits, r)
	out.reverted = func(now int64, _ kafka.ErrorCode, _ *Output) {
		s.rename(g, m, before.id)
		g.count(m, -1)
		m.protocols, m.sessionMS, m.rebalanceMS = before.protocols, before.sessionMS, before.rebalanceMS
		g.count(m, 1)
		g.leader = leaderBefore
		s.heard(m, now)
	}
}
