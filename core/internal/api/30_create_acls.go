package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// CreateAcls (key 30), versions 1–3.
//
// Behaviour: each rule by itself; one that is there already is made without a word.

// createACLs answers key 30.
func (a *API) createACLs(r *wire.Request) {
	q := new(kmsg.CreateACLsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrCreateACLsResponse()
	resp.Results = make([]kmsg.CreateACLsResponseResult, len(q.Creations))
	for n := range resp.Results {
		resp.Results[n].ErrorMessage = kmsg.StringPtr("")
	}
	refuse := func(n int, why *kafka.Error) {
		resp.Results[n].ErrorCode, resp.Results[n].ErrorMessage = a.code(r, why), fullText(why)
	}
	why := a.refuseACLs(r, OpAlter)
	var rules []auth.Rule
	var asked []int
	for n := range q.Creations {
		rule, bad := aclRule(&q.Creations[n])
		switch {
		case why != nil:
			refuse(n, why)
		case bad != "":
			refuse(n, kafka.ErrInvalidRequest.Err(bad))
		default:
			rules, asked = append(rules, rule), append(asked, n)
		}
	}
	if len(rules) == 0 {
		r.ReplyMessage(resp)
		return
	}
	a.later(r, func(ctx context.Context) {
		if err := a.deps.Control.CreateACLs(ctx, rules); err != nil {
			why := a.refusal(err)
			for _, n := range asked {
				refuse(n, why)
			}
		}
		r.ReplyMessage(resp)
	})
}
