package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// DeleteAcls (key 31), versions 1–3.
//
// Behaviour: each filter by itself; the answer names the rules that it took away.

// deleteACLs answers key 31.
func (a *API) deleteACLs(r *wire.Request) {
	q := new(kmsg.DeleteACLsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrDeleteACLsResponse()
	resp.Results = make([]kmsg.DeleteACLsResponseResult, len(q.Filters))
	refuse := func(n int, why *kafka.Error) {
		resp.Results[n].ErrorCode, resp.Results[n].ErrorMessage = a.code(r, why), fullText(why)
	}
	why := a.refuseACLs(r, OpAlter)
	var filters []meta.ACLFilter
	var asked []int
	for n := range q.Filters {
		filter, bad := aclFilter(&q.Filters[n])
		switch {
		case why != nil:
			refuse(n, why)
		case bad != "":
			refuse(n, kafka.ErrInvalidRequest.Err(bad))
		default:
			filters, asked = append(filters, filter), append(asked, n)
		}
	}
	if len(filters) == 0 {
		r.ReplyMessage(resp)
		return
	}
	a.later(r, func(ctx context.Context) {
		gone, err := a.deps.Control.DeleteACLs(ctx, filters)
		for i, n := range asked {
			switch {
			case err != nil:
				refuse(n, a.refusal(err))
			case gone[i].Err != nil:
				refuse(n, gone[i].Err)
			default:
				resp.Results[n].MatchingACLs = deletedRules(gone[i].Rules)
			}
		}
		r.ReplyMessage(resp)
	})
}

// deletedRules are rules as an answer names them.
func deletedRules(rules []auth.Rule) []kmsg.DeleteACLsResponseResultMatchingACL {
	out := make([]kmsg.DeleteACLsResponseResultMatchingACL, len(rules))
	for n, rule := range rules {
		out[n] = kmsg.NewDeleteACLsResponseResultMatchingACL()
		out[n].ResourceType, out[n].ResourceName = kmsg.ACLResourceType(rule.Resource), rule.Name
		out[n].ResourcePatternType = kmsg.ACLResourcePatternType(rule.Pattern)
		out[n].Principal, out[n].Host = rule.Principal, rule.Host
		out[n].Operation, out[n].PermissionType = kmsg.ACLOperation(rule.Operation), kmsg.ACLPermissionType(rule.Permission)
	}
	return out
}
