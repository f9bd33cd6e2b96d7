package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// IncrementalAlterConfigs (key 44), versions 0–1.
//
// Behaviour: SET, DELETE, and for lists APPEND and SUBTRACT, on topics, on groups, on
// subscriptions to the metrics of clients, on this broker, and on the defaults of all
// brokers. A broker's keys that only the config file can set are refused. The levels
// of this broker's loggers can be SET, and DELETEd to be the root logger's again; they
// last until the broker stops.
//
// Not done: the keys of share and streams groups are unknown, because there are no
// such groups here.

// incrementalAlterConfigs answers key 44.
func (a *API) incrementalAlterConfigs(r *wire.Request) {
	q := new(kmsg.IncrementalAlterConfigsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	all := make([]alter, len(q.Resources))
	for i := range q.Resources {
		from := &q.Resources[i]
		all[i] = alter{resource: meta.Resource{Type: meta.ResourceType(from.ResourceType), Name: from.ResourceName}}
		for _, k := range from.Configs {
			all[i].keys = append(all[i].keys, alteration{name: k.Name, op: operation(k.Op), value: k.Value})
		}
	}
	a.later(r, func(ctx context.Context) {
		resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
		for i, why := range a.alterAll(ctx, r, all, q.ValidateOnly) {
			out := kmsg.NewIncrementalAlterConfigsResponseResource()
			out.ResourceType, out.ResourceName = q.Resources[i].ResourceType, q.Resources[i].ResourceName
			out.ErrorCode, out.ErrorMessage = a.code(r, why), alterText(why)
			resp.Resources = append(resp.Resources, out)
		}
		r.ReplyMessage(resp)
	})
}
