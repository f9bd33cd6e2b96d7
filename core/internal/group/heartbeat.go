package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// Heartbeat handles Heartbeat. While members are collected it says so, and still
// keeps the session.
//
// Hot: per heartbeat. 0 allocs here.
func (s *State) Heartbeat(now int64, q *kmsg.HeartbeatRequest) kafka.ErrorCode {
	g := s.groups[q.Group]
	if g == nil {
		return kafka.ErrUnknownMemberID
	}
	if g.consumers != nil {
		return s.beatConsumers(g, now, q)
	}
	if code := g.check(q.MemberID, q.InstanceID); code != kafka.None {
		return code
	}
	if q.Generation != g.generation {
		return kafka.ErrIllegalGeneration
	}
	s.heard(g.members[q.MemberID], now)
	if g.phase == PreparingRebalance {
		return kafka.ErrRebalanceInProgress
	}
	return kafka.None
}

// Leave handles LeaveGroup with a list of members; the API makes one of the single
// member that old versions name. Each member has its own result.
func (s *State) Leave(now int64, to Ticket, q *kmsg.LeaveGroupRequest) (out Output) {
	g := s.groups[q.Group]
	if g != nil && g.consumers != nil {
		return s.leaveConsumers(g, now, to, q)
	}
	r := kmsg.NewPtrLeaveGroupResponse()
	left := false
	for i := range q.Members {
		m := kmsg.NewLeaveGroupResponseMember()
		m.MemberID, m.InstanceID = q.Members[i].MemberID, q.Members[i].InstanceID
		code := s.leaveOne(g, &q.Members[i], &out)
		left = left || code == kafka.None
		m.ErrorCode = int16(code)
		r.Members = append(r.Members, m)
	}
	out.reply(to, r)
	switch {
	case !left:
	case g.phase == Stable, g.phase == CompletingRebalance:
		s.prepareRebalance(g, now, &out)
	case g.phase == PreparingRebalance && g.previous != Empty:
		s.completeIfAllJoined(g, now, &out)
	}
	return out
}

// leaveOne takes out one member. An administrator names a static member by its
// instance id alone.
func (s *State) leaveOne(g *Group, who *kmsg.LeaveGroupRequestMember, out *Output) kafka.ErrorCode {
	if g == nil {
		return kafka.ErrUnknownMemberID
	}
	var m *member
	switch {
	case who.MemberID == "":
		if who.InstanceID != nil {
			m = g.static[*who.InstanceID]
		}
		if m == nil {
			return kafka.ErrUnknownMemberID
		}
	case g.pending[who.MemberID] != nil:
		s.forgetPending(g, who.MemberID)
		return kafka.None
	default:
		if code := g.check(who.MemberID, who.InstanceID); code != kafka.None {
			return code
		}
		m = g.members[who.MemberID]
	}
	s.answerJoin(g, m, joinRefusal("", kafka.ErrUnknownMemberID), out)
	s.answerSync(m, syncRefusal(kafka.ErrUnknownMemberID), out)
	s.remove(g, m)
	return kafka.None
}
