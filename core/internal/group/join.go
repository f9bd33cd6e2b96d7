package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// joinRefusal is a JoinGroup answer that is only an error.
func joinRefusal(memberID string, code kafka.ErrorCode) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.ErrorCode, r.MemberID = int16(code), memberID
	return r
}

// Join handles JoinGroup. The session timeout and the group id have been checked.
// The protocols in q are kept. The answer comes when everybody has joined.
func (s *State) Join(now int64, by Caller, q *kmsg.JoinGroupRequest) (out Output) {
	unknown := q.MemberID == ""
	g := s.groups[q.Group]
	switch {
	case g != nil && g.consumers != nil && g.consumers.Len() > 0:
		return s.joinConsumers(g, now, by, q)
	case (g == nil || g.consumers != nil) && !unknown:
		out.reply(by.Ticket, joinRefusal(q.MemberID, kafka.ErrUnknownMemberID))
		return out
	case g != nil && g.consumers != nil:
		return s.joinEmptyConsumers(g, now, by, q)
	}
	return s.joinClassic(now, by, q)
}

// joinEmptyConsumers makes a group of the classic protocol of one of the consumer
// protocol that has no members. If the log refuses, it is what it was.
func (s *State) joinEmptyConsumers(old *Group, now int64, by Caller, q *kmsg.JoinGroupRequest) Output {
	tombstones := old.tombstone(nil)
	delete(s.groups, old.id)
	out := s.joinClassic(now, by, q)
	g := s.groups[old.id]
	g.offsets, old.offsets = old.offsets, nil
	out.Records = append(tombstones, out.Records...)
	reverted := out.reverted
	out.reverted = func(now int64, code kafka.ErrorCode, next *Output) {
		old.offsets, g.offsets = g.offsets, nil
		reverted(now, code, next)
		s.groups[old.id] = old
	}
	return out
}

// joinClassic handles a JoinGroup in a group of the classic protocol, which is made
// if there is none.
func (s *State) joinClassic(now int64, by Caller, q *kmsg.JoinGroupRequest) (out Output) {
	unknown := q.MemberID == ""
	g, made := s.ensure(q.Group, now)
	switch {
	case !s.accepts(g, q.MemberID):
		s.expel(g, q.MemberID, &out)
		out.reply(by.Ticket, joinRefusal("", kafka.ErrGroupMaxSizeReached))
	case !g.supports(q.ProtocolType, q.Protocols):
		out.reply(by.Ticket, joinRefusal(q.MemberID, kafka.ErrInconsistentGroupProtocol))
	case unknown:
		s.joinNew(g, now, &by, q, &out)
	default:
		s.joinKnown(g, now, &by, q, &out)
	}
	if made && len(out.Records) == 0 {
		s.writeNew(g, &out)
	}
	return out
}

// pendingMax bounds the member ids of a group that were given out and not used yet:
// whoever asks for ever more shall not take the memory of all.
const pendingMax = 10_000

// accepts holds group.max.size. While a rebalance collects members, those that have
// joined count, so that the last to rejoin are the ones that find no place.
func (s *State) accepts(g *Group, memberID string) bool {
	if memberID == "" && len(g.pending) >= pendingMax {
		return false
	}
	m := g.members[memberID]
	switch g.phase {
	case PreparingRebalance:
		return m != nil && m.join != nil || g.awaitingJoin < s.config.MaxSize
	case CompletingRebalance, Stable:
		return m != nil || len(g.order) < s.config.MaxSize
	}
	return true
}

// expel removes a member that found no place.
func (s *State) expel(g *Group, memberID string, out *Output) {
	if m := g.members[memberID]; m != nil {
		s.answerJoin(g, m, joinRefusal("", kafka.ErrGroupMaxSizeReached), out)
		s.answerSync(m, syncRefusal(kafka.ErrGroupMaxSizeReached), out)
		s.remove(g, m)
	}
	s.forgetPending(g, memberID)
}

// forgetPending takes back a member id that was given out.
func (s *State) forgetPending(g *Group, memberID string) {
	if t := g.pending[memberID]; t != nil {
		s.timers.cancel(t)
		delete(g.pending, memberID)
	}
}

// joinNew handles a member that has no id yet.
func (s *State) joinNew(g *Group, now int64, by *Caller, q *kmsg.JoinGroupRequest, out *Output) {
	if q.InstanceID != nil {
		id := *q.InstanceID + "-" + s.ids.UUID()
		if old := g.static[*q.InstanceID]; old != nil {
			s.replaceStatic(g, old, id, now, by, q, out)
			return
		}
		s.joinAdd(g, id, now, by, q, out)
		return
	}
	id := by.ClientID + "-" + s.ids.UUID()
	if by.Version < 4 {
		s.joinAdd(g, id, now, by, q, out)
		return
	}
	t := &timer{kind: pendingTimer, group: g, member: id} // KIP-394
	g.pending[id] = t
	s.timers.set(t, now+int64(q.SessionTimeoutMillis))
	out.reply(by.Ticket, joinRefusal(id, kafka.ErrMemberIDRequired))
}

// joinAdd adds a member and begins or continues a rebalance.
func (s *State) joinAdd(g *Group, id string, now int64, by *Caller, q *kmsg.JoinGroupRequest, out *Output) {
	if g.phase == PreparingRebalance && g.previous == Empty {
		g.newMember = true
	}
	m := newMember(id, by, q)
	m.join = by.Ticket
	s.forgetPending(g, id)
	g.add(m)
	s.timers.set(&m.session, now+newMemberJoinMS)
	s.rebalance(g, now, out)
}

// joinUpdate takes over what a member says and begins or continues a rebalance.
func (s *State) joinUpdate(g *Group, m *member, now int64, by *Caller, q *kmsg.JoinGroupRequest, out *Output) {
	g.count(m, -1)
	m.update(q)
	g.count(m, 1)
	s.park(g, m, by.Ticket, out)
	s.rebalance(g, now, out)
}

// joinKnown handles a member that says it has an id.
func (s *State) joinKnown(g *Group, now int64, by *Caller, q *kmsg.JoinGroupRequest, out *Output) {
	if g.pending[q.MemberID] != nil && q.InstanceID == nil {
		s.joinAdd(g, q.MemberID, now, by, q, out)
		return
	}
	if code := g.check(q.MemberID, q.InstanceID); code != kafka.None {
		out.reply(by.Ticket, joinRefusal(q.MemberID, code))
		return
	}
	m := g.members[q.MemberID]
	same := m.matches(q.Protocols)
	switch {
	case g.phase == CompletingRebalance && same: // the answer was lost
		out.reply(by.Ticket, g.joined(m))
	case g.phase == Stable && g.leader != m.id && same:
		r := g.joined(m)
		r.Members = nil
		out.reply(by.Ticket, r)
	default: // preparing; changed; or the leader, who may see what the group can't
		s.joinUpdate(g, m, now, by, q, out)
	}
}

// joined is the answer with the present generation. The leader gets the members.
func (g *Group) joined(m *member) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.Generation, r.MemberID, r.LeaderID = g.generation, m.id, g.leader
	r.Protocol = g.protocol
	if g.protocolType != "" {
		t := g.protocolType
		r.ProtocolType = &t
	}
	if g.leader == m.id {
		r.Members = g.joinedMembers()
	}
	return r
}

// joinedMembers is what the leader learns of all members.
func (g *Group) joinedMembers() []kmsg.JoinGroupResponseMember {
	all := make([]kmsg.JoinGroupResponseMember, len(g.order))
	for i, m := range g.order {
		all[i] = kmsg.JoinGroupResponseMember{MemberID: m.id, InstanceID: m.instance, ProtocolMetadata: m.metadata(g.protocol)}
	}
	return all
}

// writeNew has a group written that was made just now, so that it is in the log
// before anybody relies on it. If the log refuses, the group was never there.
func (s *State) writeNew(g *Group, out *Output) {
	out.Records = append(out.Records, newGroupRecord(g))
	out.reverted = func(_ int64, code kafka.ErrorCode, next *Output) {
		for _, m := range g.order {
			s.answerJoin(g, m, joinRefusal("", code), next)
		}
		s.drop(g)
	}
}
