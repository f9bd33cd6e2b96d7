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
// Behaviour: each filter by itself; the answer names the rules that it took away. A
// filter with something unknown closes the connection.

// deleteACLs answers key 31.
func (a *API) deleteACLs(r *wire.Request) {
	q := new(kmsg.DeleteACLsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	filters := make([]meta.ACLFilter, len(q.Filters))
	for n := range q.Filters {
		var bad error
		if filters[n], bad = aclFilter(&q.Filters[n]); bad != nil {
			r.Drop(bad)
			return
		}
	}
	resp := kmsg.NewPtrDeleteACLsResponse()
	resp.Results = make([]kmsg.DeleteACLsResponseResult, len(q.Filters))
	refuse := func(n int, why *kafka.Error) {
		resp.Results[n].ErrorCode, resp.Results[n].ErrorMessage = a.code(r, why), fullText(why)
	}
	if why := a.refuseACLs(r, OpAlter); why != nil || len(filters) == 0 {
		for n := range filters {
			refuse(n, why)
		}
		r.ReplyMessage(resp)
		return
	}
	a.later(r, func(ctx context.Context) {
		gone, err := a.deps.Control.DeleteACLs(ctx, filters)
		for n := range filters {
			switch {
			case err != nil:
				refuse(n, a.refusal(err))
			case gone[n].Err != nil:
				refuse(n, gone[n].Err)
			default:
				resp.Results[n].MatchingACLs = deletedRules(gone[n].Rules)
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
