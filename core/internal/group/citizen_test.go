package group

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// citizen is a consumer of either protocol, as its library behaves: it gives up what
// it has before it joins again (classic), or says what it has when that changed.
type citizen struct {
	w        *town
	name     string
	instance *string
	classic  bool
	dead     bool
	id       string
	epoch    int32 // or generation; 0: not a member
	leader   bool
	owned    []int32
	said     bool // its last request, with all of owned, was answered
	members  []string
	next     func() // of a classic one
	waits    *letter
}

// letter is a request of a citizen.
type letter struct {
	c    *citizen
	then func(kmsg.Response)
}

// Answer implements Ticket.
func (l *letter) Answer(m kmsg.Response) {
	if l.c.waits == l { // else it has given it up
		l.c.waits = nil
		l.then(m)
	}
}

// reset makes a citizen one that was started just now.
func (c *citizen) reset() {
	c.epoch, c.owned, c.said, c.waits, c.id = 0, nil, false, nil, ""
	if !c.classic {
		c.w.ids++
		c.id = fmt.Sprintf("%s-%d", c.name, c.w.ids)
	}
	c.next = c.join
}

// step does what the citizen would do next, unless it waits.
func (c *citizen) step() {
	switch {
	case c.dead || c.waits != nil:
	case c.classic:
		c.next()
	default:
		c.heartbeat()
	}
}

// send makes a ticket.
func (c *citizen) send(then func(kmsg.Response)) Caller {
	c.waits = &letter{c, then}
	return Caller{Ticket: c.waits, ClientID: c.name, Host: "/h", Version: 9}
}

// heartbeat is what a consumer of the consumer protocol sends.
func (c *citizen) heartbeat() {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Group, q.MemberID, q.InstanceID, q.MemberEpoch = "g", c.id, c.instance, c.epoch
	if c.epoch == 0 || !c.said {
		q.RebalanceTimeoutMillis, q.SubscribedTopicNames = 20_000, []string{townTopic}
		q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		if len(c.owned) > 0 {
			q.Topics = append(q.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: [16]byte{1}, Partitions: c.owned})
		}
	}
	by := c.send(func(m kmsg.Response) { c.heard(m.(*kmsg.ConsumerGroupHeartbeatResponse)) })
	r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	if c.w.state.ConsumerBeat(c.w.now, &by, q, r) {
		by.Ticket.Answer(r)
		return
	}
	c.w.do(c.w.state.ConsumerHeartbeat(c.w.now, by, q))
}

// heard takes the answer to a heartbeat.
func (c *citizen) heard(r *kmsg.ConsumerGroupHeartbeatResponse) {
	switch kafka.ErrorCode(r.ErrorCode) {
	case kafka.None:
		c.epoch, c.said = r.MemberEpoch, true
		if r.Assignment == nil {
			return
		}
		var now []int32
		for _, t := range r.Assignment.Topics {
			now = append(now, t.Partitions...)
		}
		c.said = slices.Equal(now, c.owned)
		c.take(now)
	case kafka.ErrCoordinatorNotAvailable, kafka.ErrNotCoordinator, kafka.ErrUnreleasedInstanceID:
		c.said = false
	case kafka.ErrFencedInstanceID:
		c.reset()
	default:
		c.epoch, c.owned, c.said = 0, nil, false
	}
}

// metadata is what a classic consumer says.
func (c *citizen) metadata() []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 1, []string{townTopic}
	return m.AppendTo(nil)
}

func (c *citizen) join() {
	c.owned = nil
	q := &kmsg.JoinGroupRequest{Group: "g", MemberID: c.id, InstanceID: c.instance, SessionTimeoutMillis: 10_000, RebalanceTimeoutMillis: 20_000,
		ProtocolType: "consumer", Protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: c.metadata()}}}
	c.next = c.join
	c.w.do(c.w.state.Join(c.w.now, c.send(func(m kmsg.Response) {
		r := m.(*kmsg.JoinGroupResponse)
		switch kafka.ErrorCode(r.ErrorCode) {
		case kafka.None:
			c.id, c.epoch, c.leader, c.members = r.MemberID, r.Generation, r.LeaderID == r.MemberID && !r.SkipAssignment, nil
			for _, x := range r.Members {
				c.members = append(c.members, x.MemberID)
			}
			c.next = c.sync
		case kafka.ErrMemberIDRequired:
			c.id = r.MemberID
		default:
			c.failed(r.ErrorCode)
		}
	}), q))
}

func (c *citizen) sync() {
	protocolType, protocol := "consumer", "range"
	q := &kmsg.SyncGroupRequest{Group: "g", MemberID: c.id, InstanceID: c.instance, Generation: c.epoch, ProtocolType: &protocolType, Protocol: &protocol}
	if c.leader {
		for i, id := range c.members {
			a := kmsg.NewConsumerMemberAssignment()
			var mine []int32
			for p := i; p < c.w.partitions; p += len(c.members) {
				mine = append(mine, int32(p))
			}
			a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: townTopic, Partitions: mine}}
			q.GroupAssignment = append(q.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: a.AppendTo(nil)})
		}
	}
	c.next = c.sync
	c.w.do(c.w.state.Sync(c.w.now, c.send(func(m kmsg.Response) {
		r := m.(*kmsg.SyncGroupResponse)
		if r.ErrorCode != 0 {
			c.failed(r.ErrorCode)
			return
		}
		c.next = c.beat
		a := kmsg.NewConsumerMemberAssignment()
		var now []int32
		if len(r.MemberAssignment) > 0 {
			if err := a.ReadFrom(r.MemberAssignment); err != nil {
				c.w.t.Error(err)
			}
		}
		for _, t := range a.Topics {
			now = append(now, t.Partitions...)
		}
		c.take(now)
	}), q))
}

func (c *citizen) beat() {
	if g := c.w.state.groups["g"]; g != nil && g.leader == c.id && c.w.reads() != c.w.partitions { // the leader sees that the topic grew
		c.next = c.join
		return
	}
	code := c.w.state.Heartbeat(c.w.now, &kmsg.HeartbeatRequest{Group: "g", MemberID: c.id, InstanceID: c.instance, Generation: c.epoch})
	if code != kafka.None {
		c.failed(int16(code))
	}
}

// reads is how many partitions classic members of a classic group have together.
func (w *town) reads() int {
	all := map[int32]bool{}
	for _, c := range w.citizens {
		for _, p := range c.owned {
			all[p] = true
		}
	}
	return len(all)
}

// failed makes the citizen join again, as itself if it still is.
func (c *citizen) failed(code int16) {
	c.next = c.join
	switch kafka.ErrorCode(code) {
	case kafka.ErrRebalanceInProgress, kafka.ErrCoordinatorNotAvailable, kafka.ErrNotCoordinator, kafka.ErrIllegalGeneration:
	default:
		c.id, c.epoch, c.owned = "", 0, nil
	}
}

func (c *citizen) leave() {
	if c.waits != nil || c.epoch == 0 || c.dead {
		return
	}
	defer c.reset()
	if c.classic {
		q := &kmsg.LeaveGroupRequest{Group: "g", Members: []kmsg.LeaveGroupRequestMember{{MemberID: c.id, InstanceID: c.instance}}}
		by := c.send(func(kmsg.Response) {})
		c.w.do(c.w.state.Leave(c.w.now, by.Ticket, q))
		return
	}
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Group, q.MemberID, q.InstanceID, q.MemberEpoch = "g", c.id, c.instance, -1
	if c.instance != nil && c.w.rand.IntN(2) == 0 {
		q.MemberEpoch = -2
	}
	c.w.do(c.w.state.ConsumerHeartbeat(c.w.now, c.send(func(kmsg.Response) {}), q))
}
