package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// DescribeGroups (key 15), versions 0–6.
//
// Behaviour: groups of the classic protocol, in the order of the request. An unknown
// group is Dead, and from version 6 on an error as well.

// describeGroups answers key 15.
func (a *API) describeGroups(r *wire.Request) {
	var q kmsg.DescribeGroupsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(q.Groups))
	operations := q.Version >= 3 && q.IncludeAuthorizedOperations
	parts := newCountdown(len(q.Groups), func() {
		for i := range resp.Groups {
			if g := &resp.Groups[i]; operations && g.ErrorCode == 0 {
				g.AuthorizedOperations = a.allowedOperations(r, ResourceGroup, g.Group)
			}
		}
		r.ReplyMessage(resp)
	})
	for i, id := range q.Groups {
		fail := func(code kafka.ErrorCode) {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.ErrorCode = id, int16(code)
			resp.Groups[i] = g
			parts.done()
		}
		if !a.authorize(r, OpDescribe, ResourceGroup, id) {
			fail(kafka.ErrGroupAuthorizationFailed)
			continue
		}
		to := collector(func(m kmsg.Response) {
			resp.Groups[i] = m.(*kmsg.DescribeGroupsResponse).Groups[0]
			parts.done()
		})
		version := r.Version
		a.coordinate(id, func(s *group.State, _ int64) group.Output {
			return reading(to, &kmsg.DescribeGroupsResponse{Groups: []kmsg.DescribeGroupsResponseGroup{s.Describe(id, version)}})
		}, fail)
	}
	parts.done()
}
