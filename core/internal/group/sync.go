package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// Sync handles SyncGroup. Followers wait for the leader's assignments, which are
// written before anybody gets them. The assignments in q are kept.
func (s *State) Sync(now int64, by Caller, q *kmsg.SyncGroupRequest) (out Output) {
	g := s.groups[q.Group]
	if g != nil && g.consumers != nil && g.consumers.Len() > 0 {
		return s.syncConsumers(g, now, by, q)
	}
	if code := g.checkSync(q); code != kafka.None {
		out.reply(by.Ticket, syncRefusal(code))
		return out
	}
	m := g.members[q.MemberID]
	switch g.phase {
	case PreparingRebalance:
		out.reply(by.Ticket, syncRefusal(kafka.ErrRebalanceInProgress))
	case CompletingRebalance:
		s.answerSync(m, syncRefusal(kafka.ErrRebalanceInProgress), &out) // its sender has given it up
		m.sync = by.Ticket
		s.synced(g, m)
		if g.leader == m.id {
			s.assign(g, q, &out)
		}
	case Stable:
		s.synced(g, m)
		out.reply(by.Ticket, g.syncAnswer(m))
	}
	return out
}

// checkSync validates a SyncGroup, in Kafka's order.
func (g *Group) checkSync(q *kmsg.SyncGroupRequest) kafka.ErrorCode {
	if g == nil || g.phase == Empty {
		return kafka.ErrUnknownMemberID
	}
	if code := g.check(q.MemberID, q.InstanceID); code != kafka.None {
		return code
	}
	switch {
	case q.Generation != g.generation:
		return kafka.ErrIllegalGeneration
	case q.ProtocolType != nil && g.protocolType != "" && *q.ProtocolType != g.protocolType,
		q.Protocol != nil && g.protocol != nil && *q.Protocol != *g.protocol:
		return kafka.ErrInconsistentGroupProtocol
	}
	return kafka.None
}

// synced notes that a member asked for its assignment.
func (s *State) synced(g *Group, m *member) {
	delete(g.unsynced, m.id)
	if len(g.unsynced) == 0 {
		s.timers.cancel(&g.syncTimer)
	}
}

// assign writes the leader's assignments. Members that it forgot get an empty one.
func (s *State) assign(g *Group, q *kmsg.SyncGroupRequest, out *Output) {
	given := make(map[string][]byte, len(q.GroupAssignment))
	for i := range q.GroupAssignment {
		a := &q.GroupAssignment[i]
		given[a.MemberID] = a.MemberAssignment
	}
	out.Records = append(out.Records, groupRecord(g, given))
	out.applied = func(now int64, next *Output) {
		for _, m := range g.order {
			m.assignment = given[m.id]
		}
		g.turn(Stable, now)
		for _, m := range g.order {
			if s.answerSync(m, g.syncAnswer(m), next) {
				s.heard(m, now)
			}
		}
	}
	out.reverted = func(now int64, code kafka.ErrorCode, next *Output) {
		for _, m := range g.order {
			if s.answerSync(m, syncRefusal(code), next) {
				s.heard(m, now)
			}
		}
		s.prepareRebalance(g, now, next)
	}
}

// syncAnswer is a member's assignment.
func (g *Group) syncAnswer(m *member) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.Protocol = g.protocol
	if g.protocolType != "" {
		t := g.protocolType
		r.ProtocolType = &t
	}
	r.MemberAssignment = m.assignment
	if r.MemberAssignment == nil {
		r.MemberAssignment = []byte{}
	}
	return r
}
