package api

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// SyncGroup (key 14), versions 0–5.
//
// Behaviour: room group. Followers wait for the leader's assignments. From version 5
// on the protocol's type and name must be there, and right (KIP-559).

// syncGroup answers key 14.
func (a *API) syncGroup(r *wire.Request) {
	q := kmsg.NewPtrSyncGroupRequest()
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	if code := a.refuseSync(r, q); code != kafka.None {
		r.ReplyMessage(syncError(code))
		return
	}
	for i := range q.GroupAssignment {
		q.GroupAssignment[i].MemberAssignment = bytes.Clone(q.GroupAssignment[i].MemberAssignment)
	}
	by := caller(r)
	t := a.park(r)
	by.Ticket = t
	a.coordinate(q.Group, func(s *group.State, now int64) group.Output { return s.Sync(now, by, q) },
		func(code kafka.ErrorCode) { t.Answer(syncError(code)) })
}

// refuseSync finds what is wrong with a request before its group is looked at.
func (a *API) refuseSync(r *wire.Request, q *kmsg.SyncGroupRequest) kafka.ErrorCode {
	switch {
	case q.Version >= 5 && (q.ProtocolType == nil || q.Protocol == nil):
		return kafka.ErrInconsistentGroupProtocol
	case !a.authorize(r, OpRead, ResourceGroup, q.Group):
		return kafka.ErrGroupAuthorizationFailed
	case q.Group == "":
		return kafka.ErrInvalidGroupID
	}
	return kafka.None
}

// syncError is an answer that is only an error.
func syncError(code kafka.ErrorCode) *kmsg.SyncGroupResponse {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ErrorCode, resp.MemberAssignment = int16(code), []byte{}
	return resp
}
