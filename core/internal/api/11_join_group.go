package api

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// JoinGroup (key 11), versions 0–9.
//
// Behaviour: room group. The request waits until everybody has joined. From version
// 4 on a new dynamic member is sent away with an id first (KIP-394); version 5 has
// static members (KIP-345), version 9 says when a leader need not assign (KIP-814).
// Version 0 has no rebalance timeout: it is the session timeout.

// joinGroup answers key 11.
func (a *API) joinGroup(r *wire.Request) {
	q := kmsg.NewPtrJoinGroupRequest()
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	if q.Version < 1 {
		q.RebalanceTimeoutMillis = q.SessionTimeoutMillis
	}
	if code := a.refuseJoin(r, q); code != kafka.None {
		resp := joinError(code)
		if code != kafka.ErrGroupAuthorizationFailed {
			resp.MemberID = q.MemberID
		}
		r.ReplyMessage(resp)
		return
	}
	for i := range q.Protocols {
		q.Protocols[i].Metadata = bytes.Clone(q.Protocols[i].Metadata)
	}
	by := caller(r)
	by.May = a.permission(r)
	t := a.park(r)
	by.Ticket = t
	a.coordinate(q.Group, func(s *group.State, now int64) group.Output { return s.Join(now, by, q) },
		func(code kafka.ErrorCode) { t.Answer(joinError(code)) })
}

// refuseJoin finds what is wrong with a request before its group is looked at.
func (a *API) refuseJoin(r *wire.Request, q *kmsg.JoinGroupRequest) kafka.ErrorCode {
	g := &a.broker(a.image()).Groups
	switch {
	case !a.authorize(r, OpRead, ResourceGroup, q.Group):
		return kafka.ErrGroupAuthorizationFailed
	case q.Group == "":
		return kafka.ErrInvalidGroupID
	case q.SessionTimeoutMillis < g.MinSessionMS || q.SessionTimeoutMillis > g.MaxSessionMS:
		return kafka.ErrInvalidSessionTimeout
	case !storable(r, q):
		return kafka.ErrInvalidRequest
	}
	return kafka.None
}

// storable reports whether the texts of a request fit into a group's record. The member
// may yet be given an id that begins with one of them.
func storable(r *wire.Request, q *kmsg.JoinGroupRequest) bool {
	const uuidRoom = 1 + 36
	longest := max(len(r.ClientID)+uuidRoom, len(q.MemberID), len(q.ProtocolType))
	if q.InstanceID != nil {
		longest = max(longest, len(*q.InstanceID)+uuidRoom)
	}
	for i := range q.Protocols {
		longest = max(longest, len(q.Protocols[i].Name))
	}
	return longest <= nameBytesMax
}

// joinError is an answer that is only an error.
func joinError(code kafka.ErrorCode) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode = int16(code)
	return resp
}
