package group

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/kafka"
)

// ConsumerBeat answers the ConsumerGroupHeartbeat of a member that has what it is to
// have and says nothing new. false: ConsumerHeartbeat is to be asked.
//
// Hot: per heartbeat. 0 allocs, three map accesses.
func (s *State) ConsumerBeat(now int64, by *Caller, q *kmsg.ConsumerGroupHeartbeatRequest, r *kmsg.ConsumerGroupHeartbeatResponse) bool {
	g := s.groups[q.Group]
	if g == nil || g.consumers == nil || q.Topics != nil {
		return false
	}
	h := heartbeatOf(by, q)
	m := g.consumers.Beat(&h)
	w := g.watches[q.MemberID]
	if m == nil || w == nil {
		return false
	}
	env := s.env(q.Group, now)
	s.timers.set(&w.session, now+env.Rules.SessionMS)
	m.Answer(r, env.Rules)
	return true
}

// heartbeatOf is what a request says, but for the partitions that the member has.
func heartbeatOf(by *Caller, q *kmsg.ConsumerGroupHeartbeatRequest) consumergroup.Heartbeat {
	h := consumergroup.Heartbeat{MemberID: q.MemberID, Epoch: q.MemberEpoch, Rack: q.RackID, RebalanceMS: q.RebalanceTimeoutMillis,
		Topics: q.SubscribedTopicNames, Regex: q.SubscribedTopicRegex, Assignor: q.ServerAssignor, ClientID: by.ClientID, Host: by.Host}
	if q.InstanceID != nil {
		h.Instance = *q.InstanceID
	}
	return h
}

// ConsumerHeartbeat handles ConsumerGroupHeartbeat: members join, stay and leave. The
// request has been checked by itself; it is kept.
func (s *State) ConsumerHeartbeat(now int64, by Caller, q *kmsg.ConsumerGroupHeartbeatRequest) (out Output) {
	if q.MemberEpoch == consumergroup.LeaveEpoch || q.MemberEpoch == consumergroup.LeaveStaticEpoch {
		return s.consumerLeave(now, by.Ticket, q)
	}
	r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	out.reply(by.Ticket, r)
	joins := q.MemberEpoch == 0
	t, err := s.takeConsumers(q.Group, joins)
	if err != nil {
		refuseHeartbeat(r, err)
		return out
	}
	h := heartbeatOf(&by, q)
	if h.Topics != nil {
		slices.Sort(h.Topics)
		h.Topics = slices.Compact(h.Topics)
	}
	h.OwnedKnown = q.Topics != nil
	for i := range q.Topics {
		h.Owned = append(h.Owned, consumergroup.TopicPartitions{Topic: kafka.TopicID(q.Topics[i].TopicID), Partitions: q.Topics[i].Partitions})
	}
	env := s.env(q.Group, now)
	did, err := t.c.Heartbeat(env, &h)
	if err != nil {
		refuseHeartbeat(r, err)
		return out
	}
	did.Member.Answer(r, env.Rules)
	if did.Show {
		did.Member.Show(r)
	}
	session := env.Rules.SessionMS
	s.settle(t, now, did.Changes, &out, func(g *Group, now int64) {
		g.consumers.Done(&did)
		s.moved(g, &did, now)
		s.timers.set(&g.watch(did.Member.ID).session, now+session)
		s.ask(g, &did, by.May)
	})
	return out
}

// settle has the changes of an operation written, and made once they are. then is
// called with the group as it is after that.
func (s *State) settle(t *take, now int64, changes []consumergroup.Change, out *Output, then func(g *Group, now int64)) {
	out.Records = append(out.Records, t.log...)
	out.write(t.id, changes)
	done := func(now int64, next *Output) {
		g := s.installed(t, now, next)
		apply(g.consumers, changes)
		then(g, now)
		s.unwatchGone(g)
	}
	if len(out.Records) == 0 {
		done(now, out)
		return
	}
	out.applied = done
}

// moved begins or ends the time that a member has to give partitions up.
func (s *State) moved(g *Group, did *consumergroup.Outcome, now int64) {
	m := did.Member
	if !did.Moved || m.Classic != nil {
		return
	}
	w := g.watch(m.ID)
	s.timers.cancel(&w.rebalance)
	if m.State == consumergroup.Unrevoked {
		w.epoch = m.Epoch
		s.timers.set(&w.rebalance, now+int64(m.RebalanceMS))
	}
}

// ask leaves the question which topics the group's expressions stand for.
func (s *State) ask(g *Group, did *consumergroup.Outcome, may consumergroup.Permission) {
	if did.Resolve != nil {
		g.consumers.Resolving(true)
		s.lookups = append(s.lookups, Lookup{Group: g.id, Regexes: did.Resolve, May: may})
	}
}

// refuseHeartbeat makes an answer a refusal.
func refuseHeartbeat(r *kmsg.ConsumerGroupHeartbeatResponse, err *kafka.Error) {
	r.ErrorCode = int16(err.Code)
	if err.Code != kafka.ErrUnknownServerError {
		message := err.Message
		r.ErrorMessage = &message
	}
}

// consumerLeave lets a member leave, a static one perhaps for a while only.
func (s *State) consumerLeave(now int64, to Ticket, q *kmsg.ConsumerGroupHeartbeatRequest) (out Output) {
	r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	out.reply(to, r)
	g := s.groups[q.Group]
	if g == nil || g.consumers == nil {
		err := kafka.ErrGroupIDNotFound.Err("Group " + q.Group + " not found.")
		if g != nil {
			err = notConsumers(q.Group)
		}
		refuseHeartbeat(r, err)
		return out
	}
	instance := ""
	if q.InstanceID != nil {
		instance = *q.InstanceID
	}
	m, err := g.consumers.Leaving(q.MemberID, instance)
	if err != nil {
		refuseHeartbeat(r, err)
		return out
	}
	r.MemberID, r.MemberEpoch = &q.MemberID, q.MemberEpoch
	if q.MemberEpoch == consumergroup.LeaveStaticEpoch && instance != "" {
		changes := g.consumers.Pause(m)
		out.write(g.id, changes)
		out.applied = func(int64, *Output) { apply(g.consumers, changes) }
		return out
	}
	s.fence(g, []*consumergroup.Member{m}, now, &out)
	return out
}

// fence takes members out of a group of the consumer protocol. If none but classic
// members are left, it turns to their protocol.
func (s *State) fence(g *Group, gone []*consumergroup.Member, now int64, out *Output) {
	env := s.env(g.id, now)
	if g.consumers.LeavingDowngrades(env.Rules, gone) {
		s.downgrade(g, gone, nil, "", true, now, out)
		return
	}
	changes := g.consumers.Remove(env, gone)
	out.write(g.id, changes)
	out.applied = func(int64, *Output) {
		apply(g.consumers, changes)
		s.unwatchGone(g)
	}
}

// watchLoaded begins the deadlines of the members of a group after a load.
func (s *State) watchLoaded(g *Group, now int64) {
	session := s.env(g.id, now).Rules.SessionMS
	for _, m := range g.consumers.Members() {
		w := g.watch(m.ID)
		s.timers.set(&w.session, now+session)
		if m.State == consumergroup.Unrevoked {
			w.epoch = m.Epoch
			s.timers.set(&w.rebalance, now+int64(m.RebalanceMS))
		}
	}
}

// watchEnded does what a deadline of a member asks for.
func (s *State) watchEnded(g *Group, t *timer, now int64, out *Output) {
	w, m := g.watches[t.member], g.consumers.Member(t.member)
	if w == nil || m == nil || t.kind == rebalanceTimer && m.Epoch != w.epoch {
		return
	}
	s.fence(g, []*consumergroup.Member{m}, now, out)
	out.reverted = func(now int64, _ kafka.ErrorCode, _ *Output) {
		s.timers.set(t, now+fenceRetryMS) // else it would stay for ever
	}
}

// fenceRetryMS is when it is tried again to take a member out that the log refused to
// take out.
const fenceRetryMS = 1000
