package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// DeleteGroups (key 42), versions 0–3.
//
// Behaviour: deletes groups without members, and their offsets, each by itself.
// A group that is named twice is deleted once.

// deleteGroups answers key 42.
func (a *API) deleteGroups(r *wire.Request) {
	var q kmsg.DeleteGroupsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	ids := distinct(q.Groups)
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(ids))
	parts := newCountdown(len(ids), func() { r.ReplyMessage(resp) })
	for i, id := range ids {
		fail := func(code kafka.ErrorCode) {
			g := kmsg.NewDeleteGroupsResponseGroup()
			g.Group, g.ErrorCode = id, int16(code)
			resp.Groups[i] = g
			parts.done()
		}
		if !a.authorize(r, OpDelete, ResourceGroup, id) {
			fail(kafka.ErrGroupAuthorizationFailed)
			continue
		}
		to := collector(func(m kmsg.Response) {
			resp.Groups[i] = m.(*kmsg.DeleteGroupsResponse).Groups[0]
			parts.done()
		})
		a.coordinate(id, func(s *group.State, _ int64) group.Output { return s.Delete(to, []string{id}) }, fail)
	}
	parts.done()
}

// distinct are the different ones of some names, in their order.
func distinct(names []string) (out []string) {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}
