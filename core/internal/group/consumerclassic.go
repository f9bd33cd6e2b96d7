package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/kafka"
)

// text is an optional string of a request; empty: none.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// joinConsumers handles the JoinGroup of a classic member in a group of the consumer
// protocol. The answer comes at once: its generation is the member's epoch.
func (s *State) joinConsumers(g *Group, now int64, by Caller, q *kmsg.JoinGroupRequest) (out Output) {
	j := consumergroup.Join{MemberID: q.MemberID, Instance: text(q.InstanceID), SessionMS: q.SessionTimeoutMillis, RebalanceMS: q.RebalanceTimeoutMillis,
		ProtocolType: q.ProtocolType, ClientID: by.ClientID, Host: by.Host, NeedsID: by.Version >= 4 && q.MemberID == "" && q.InstanceID == nil}
	for _, p := range q.Protocols {
		j.Protocols = append(j.Protocols, consumergroup.Protocol{Name: p.Name, Metadata: p.Metadata})
	}
	did, err := g.consumers.JoinClassic(s.env(q.Group, now), &j)
	switch {
	case err != nil:
		out.reply(by.Ticket, joinRefusal("", err.Code))
		return out
	case did.RetryAs != "":
		out.reply(by.Ticket, joinRefusal(did.RetryAs, kafka.ErrMemberIDRequired))
		return out
	}
	out.reply(by.Ticket, joinedConsumers(did.Member))
	if did.Downgrade {
		out.write(g.id, did.Changes)
		s.downgrade(g, nil, did.Member, did.Replaced, did.Rebalance, now, &out)
		return out
	}
	t := &take{id: g.id, c: g.consumers, from: g}
	s.settle(t, now, did.Changes, &out, func(g *Group, now int64) {
		g.consumers.Done(&did.Outcome)
		w := g.watch(did.Member.ID)
		s.timers.cancel(&w.rebalance)
		s.timers.cancel(&w.rejoin)
		s.timers.set(&w.session, now+int64(q.SessionTimeoutMillis))
		s.timers.cancel(&w.sync)
		s.timers.set(&w.sync, now+int64(q.RebalanceTimeoutMillis))
		s.ask(g, &did.Outcome, by.May)
	})
	return out
}

// joinedConsumers is the answer to a classic member: nobody leads.
func joinedConsumers(m *consumergroup.Member) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.MemberID, r.Generation = m.ID, m.Epoch
	r.ProtocolType, r.Protocol = kmsg.StringPtr(consumergroup.ProtocolType), kmsg.StringPtr(m.Classic.Protocols[0].Name)
	return r
}

// syncConsumers handles the SyncGroup of a classic member in a group of the consumer
// protocol: it gets what it has.
func (s *State) syncConsumers(g *Group, now int64, by Caller, q *kmsg.SyncGroupRequest) (out Output) {
	m, err := g.consumers.ClassicMember(q.MemberID, text(q.InstanceID), q.Generation)
	rejoin := false
	if err == nil {
		err, rejoin = g.consumers.CheckSync(m, q.ProtocolType, q.Protocol)
	}
	if rejoin {
		s.mustRejoin(g, m, now)
	}
	if err != nil {
		out.reply(by.Ticket, syncRefusal(err.Code))
		return out
	}
	w := g.watch(m.ID)
	s.timers.cancel(&w.sync)
	s.timers.set(&w.session, now+int64(m.Classic.SessionMS))
	r := kmsg.NewPtrSyncGroupResponse()
	r.ProtocolType, r.Protocol, r.MemberAssignment = q.ProtocolType, q.Protocol, m.Assignment(s.image)
	out.reply(by.Ticket, r)
	return out
}

// beatConsumers handles the Heartbeat of a classic member in a group of the consumer
// protocol.
//
// Hot: per heartbeat. 0 allocs.
func (s *State) beatConsumers(g *Group, now int64, q *kmsg.HeartbeatRequest) kafka.ErrorCode {
	m, err := g.consumers.ClassicMember(q.MemberID, text(q.InstanceID), q.Generation)
	if err != nil {
		return err.Code
	}
	s.timers.set(&g.watch(m.ID).session, now+int64(m.Classic.SessionMS))
	if g.consumers.MustRejoin(m) {
		s.mustRejoin(g, m, now)
		return kafka.ErrRebalanceInProgress
	}
	return kafka.None
}

// mustRejoin gives a member that was told to join again its rebalance timeout for it.
func (s *State) mustRejoin(g *Group, m *consumergroup.Member, now int64) {
	if w := g.watch(m.ID); w.rejoin.slot == 0 {
		s.timers.set(&w.rejoin, now+int64(m.RebalanceMS))
	}
}

// leaveConsumers handles LeaveGroup in a group of the consumer protocol, for members
// of either.
func (s *State) leaveConsumers(g *Group, now int64, to Ticket, q *kmsg.LeaveGroupRequest) (out Output) {
	r := kmsg.NewPtrLeaveGroupResponse()
	out.reply(to, r)
	seen := map[*consumergroup.Member]bool{}
	var gone []*consumergroup.Member
	for i := range q.Members {
		who := &q.Members[i]
		answer := kmsg.NewLeaveGroupResponseMember()
		answer.MemberID, answer.InstanceID = who.MemberID, who.InstanceID
		m, err := g.consumers.LeavingClassic(who.MemberID, text(who.InstanceID))
		if err != nil {
			answer.ErrorCode = int16(err.Code)
		} else if !seen[m] {
			seen[m] = true
			gone = append(gone, m)
		}
		r.Members = append(r.Members, answer)
	}
	if len(gone) > 0 {
		s.fence(g, gone, now, &out)
	}
	return out
}
