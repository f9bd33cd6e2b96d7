package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// UnregisterBroker (key 64), version 0.
//
// Behaviour: the cluster forgets a broker, whether it serves or not: its partitions
// get other leaders, and it stays in replica lists as one that is down. A broker that
// lives registers again when it starts.

// unregisterBroker answers key 64.
func (a *API) unregisterBroker(r *wire.Request) {
	var q kmsg.UnregisterBrokerRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	answer := func(why *kafka.Error) {
		resp := kmsg.NewPtrUnregisterBrokerResponse()
		resp.ErrorCode, resp.ErrorMessage = a.code(r, why), fullText(why)
		if why == nil {
			resp.ErrorMessage = kmsg.StringPtr("")
		}
		r.ReplyMessage(resp)
	}
	if !a.authorizeCluster(r, OpAlter) {
		answer(kafka.ErrClusterAuthorizationFailed.Err(""))
		return
	}
	id := kafka.BrokerID(q.BrokerID)
	a.later(r, func(ctx context.Context) {
		ctx, stop := withTimeout(ctx, controlTimeout)
		defer stop()
		answer(a.refusal(a.deps.Control.UnregisterBroker(ctx, id)))
	})
}
