package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// LeaveGroup (key 13), versions 0–5.
//
// Behaviour: from version 3 on several members leave at once, each with a result of
// its own, and an administrator can name static members by their instance id alone.
// Before, one member leaves, and its result is the answer's.

// leaveGroup answers key 13.
func (a *API) leaveGroup(r *wire.Request) {
	var q kmsg.LeaveGroupRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	t := &ticket{a: a, r: r}
	refuse := func(code kafka.ErrorCode) {
		resp := kmsg.NewPtrLeaveGroupResponse()
		resp.ErrorCode = int16(code)
		t.Answer(resp)
	}
	var to group.Ticket = t
	if q.Version < 3 {
		q.Members = []kmsg.LeaveGroupRequestMember{{MemberID: q.MemberID}}
		to = collector(func(m kmsg.Response) { t.Answer(singleLeave(m.(*kmsg.LeaveGroupResponse))) })
	}
	switch {
	case !a.authorize(r, OpRead, ResourceGroup, q.Group):
		refuse(kafka.ErrGroupAuthorizationFailed)
	case q.Group == "":
		refuse(kafka.ErrInvalidGroupID)
	default:
		a.coordinate(q.Group, func(s *group.State, now int64) group.Output { return s.Leave(now, to, &q) }, refuse)
	}
}

// singleLeave is the answer of versions that name one member.
func singleLeave(resp *kmsg.LeaveGroupResponse) *kmsg.LeaveGroupResponse {
	if resp.ErrorCode == 0 && len(resp.Members) > 0 {
		resp.ErrorCode = resp.Members[0].ErrorCode
	}
	resp.Members = nil
	return resp
}
