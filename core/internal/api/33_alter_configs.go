package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// AlterConfigs (key 33), versions 0–2.
//
// Behaviour: a resource has afterwards the keys of the request and no others, on
// topics, on groups, on subscriptions to the metrics of clients, on this broker, and on
// the defaults of all brokers. Levels of loggers only key 44 can change.
//
// Not done: the keys of share and streams groups, as in key 44.

// alterConfigs answers key 33.
func (a *API) alterConfigs(r *wire.Request) {
	q := new(kmsg.AlterConfigsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	all := make([]alter, len(q.Resources))
	for i := range q.Resources {
		from := &q.Resources[i]
		all[i] = alter{resource: meta.Resource{Type: meta.ResourceType(from.ResourceType), Name: from.ResourceName}, replace: true}
		for _, k := range from.Configs {
			all[i].keys = append(all[i].keys, alteration{name: k.Name, op: opSet, value: k.Value})
		}
	}
	a.later(r, func(ctx context.Context) {
		resp := kmsg.NewPtrAlterConfigsResponse()
		for i, why := range a.alterAll(ctx, r, all, q.ValidateOnly) {
			out := kmsg.NewAlterConfigsResponseResource()
			out.ResourceType, out.ResourceName = q.Resources[i].ResourceType, q.Resources[i].ResourceName
			out.ErrorCode, out.ErrorMessage = a.code(r, why), alterText(why)
			resp.Resources = append(resp.Resources, out)
		}
		r.ReplyMessage(resp)
	})
}
