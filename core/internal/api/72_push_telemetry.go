package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/telemetry"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/wire"
)

// PushTelemetry (key 72), version 0.
//
// Behaviour, in this order: no client has an id that is reserved; nothing may come
// after a push that said that it is the last one; a push before the interval is over
// is throttled, unless it is the last; then the id of the subscription, the codec and
// the size must be right. What passes is decompressed and read in the background, in
// order for each connection; what can't be read is INVALID_RECORD, after which clients
// push no more.

// pushTelemetry answers key 72.
func (a *API) pushTelemetry(r *wire.Request) {
	var q kmsg.PushTelemetryRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	c := telemetryClient(r)
	p := &telemetry.Push{Instance: q.ClientInstanceID, SubscriptionID: q.SubscriptionID,
		Terminating: q.Terminating, Codec: record.Codec(q.CompressionType), Metrics: q.Metrics}
	if refused := a.deps.Telemetry.Admit(c, p); refused != kafka.None || len(p.Metrics) == 0 {
		a.answerPush(r, refused)
		return
	}
	if !a.pushes.submit(r.Conn.ID, func(context.Context) { a.answerPush(r, a.deps.Telemetry.Take(c, p)) }) {
		r.Drop(errBusy)
	}
}

// answerPush answers key 72 with a code.
func (a *API) answerPush(r *wire.Request, code kafka.ErrorCode) {
	a.count(r, code)
	resp := kmsg.NewPtrPushTelemetryResponse()
	resp.ErrorCode = int16(code)
	r.ReplyMessage(resp)
}
