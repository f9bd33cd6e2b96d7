package group

import (
	"bytes"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// member is one member of a group.
type member struct {
	id           string
	instance     *string // group.instance.id; nil: dynamic
	clientID     string
	host         string
	sessionMS    int32
	rebalanceMS  int32
	protocolType string
	protocols    []kmsg.JoinGroupRequestProtocol // own copies, in order of preference
	assignment   []byte
	fresh        bool // has not been in a generation yet

	join    Ticket // parked JoinGroup; nil: none
	sync    Ticket // parked SyncGroup; nil: none
	session timer
}

// newMember makes a member of a JoinGroup. The request is kept.
func newMember(id string, by *Caller, q *kmsg.JoinGroupRequest) *member {
	m := &member{id: id, clientID: by.ClientID, host: by.Host, protocolType: q.ProtocolType, fresh: true}
	if q.InstanceID != nil {
		instance := *q.InstanceID
		m.instance = &instance
	}
	m.update(q)
	return m
}

// update takes over what a JoinGroup says.
func (m *member) update(q *kmsg.JoinGroupRequest) {
	m.sessionMS, m.rebalanceMS = q.SessionTimeoutMillis, q.RebalanceTimeoutMillis
	m.protocols = q.Protocols
}

// matches reports whether a JoinGroup says what the member said before.
func (m *member) matches(protocols []kmsg.JoinGroupRequestProtocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b kmsg.JoinGroupRequestProtocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// metadata is what the member says under a protocol.
func (m *member) metadata(protocol *string) []byte {
	if protocol == nil {
		return nil
	}
	for i := range m.protocols {
		if m.protocols[i].Name == *protocol {
			return m.protocols[i].Metadata
		}
	}
	return nil
}

// check validates who sends a request: a static member whose instance id has been
// taken over is fenced (KIP-345).
func (g *Group) check(memberID string, instance *string) kafka.ErrorCode {
	if instance != nil {
		switch owner := g.static[*instance]; {
		case owner == nil:
			return kafka.ErrUnknownMemberID
		case owner.id != memberID:
			return kafka.ErrFencedInstanceID
		}
	}
	if g.members[memberID] == nil {
		return kafka.ErrUnknownMemberID
	}
	return kafka.None
}

// heard notes that a member is alive.
//
// Hot: per heartbeat. 0 allocs.
func (s *State) heard(m *member, now int64) { s.timers.set(&m.session, now+int64(m.sessionMS)) }

// sessionEnded removes a member that was not heard of. Members that wait for an
// answer of ours are alive, but for new ones: those can't send heartbeats, and may
// be gone.
func (s *State) sessionEnded(g *Group, m *member, now int64, out *Output) {
	if !m.fresh && (m.join != nil || m.sync != nil) {
		return
	}
	s.answerJoin(g, m, joinRefusal("", kafka.ErrUnknownMemberID), out)
	s.answerSync(m, syncRefusal(kafka.ErrUnknownMemberID), out)
	s.remove(g, m)
	switch g.phase {
	case Stable, CompletingRebalance:
		s.prepareRebalance(g, now, out)
	case PreparingRebalance:
		s.completeIfAllJoined(g, now, out)
	}
}

// answerJoin answers a member's parked JoinGroup, if there is one.
func (s *State) answerJoin(g *Group, m *member, r *kmsg.JoinGroupResponse, out *Output) {
	if m.join == nil {
		return
	}
	out.reply(m.join, r)
	m.join = nil
	g.awaitingJoin--
}

// answerSync answers a member's parked SyncGroup, if there is one.
func (s *State) answerSync(m *member, r *kmsg.SyncGroupResponse, out *Output) bool {
	if m.sync == nil {
		return false
	}
	out.reply(m.sync, r)
	m.sync = nil
	return true
}

// park keeps a member's JoinGroup. One that is still parked is answered first: its
// sender has given it up.
func (s *State) park(g *Group, m *member, t Ticket, out *Output) {
	s.answerJoin(g, m, joinRefusal(m.id, kafka.ErrRebalanceInProgress), out)
	m.join = t
	g.awaitingJoin++
}
