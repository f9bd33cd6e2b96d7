package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/telemetry"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// GetTelemetrySubscriptions (key 71), version 0.
//
// Behaviour: a client that has no id yet is given one. It is told the union of the
// metrics of the subscriptions that match it, the shortest of their intervals, and the
// id of all that, which it pushes with. A client that asks again before an interval is
// over is throttled, unless what it should push has changed. As in Kafka nobody needs
// a right for it.
//
// Not done: a Kafka that nobody configured to take metrics answers this key and does
// not show it; here it is a key that does not exist, unless telemetry.clients is set.

// getTelemetrySubscriptions answers key 71.
func (a *API) getTelemetrySubscriptions(r *wire.Request) {
	var q kmsg.GetTelemetrySubscriptionsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrGetTelemetrySubscriptionsResponse()
	s, refused := a.deps.Telemetry.Subscribe(telemetryClient(r), q.ClientInstanceID)
	if refused != kafka.None {
		a.count(r, refused)
		resp.ErrorCode = int16(refused)
		r.ReplyMessage(resp)
		return
	}
	resp.ClientInstanceID, resp.SubscriptionID = s.Instance, s.SubscriptionID
	resp.PushIntervalMillis, resp.TelemetryMaxBytes = s.IntervalMS, s.MaxBytes
	resp.DeltaTemporality, resp.RequestedMetrics = true, s.Metrics
	for _, c := range telemetry.Codecs() {
		resp.AcceptedCompressionTypes = append(resp.AcceptedCompressionTypes, int8(c))
	}
	r.ReplyMessage(resp)
}

// telemetryClient is who sends a request. It refers to nothing of the request's.
func telemetryClient(r *wire.Request) telemetry.Client {
	c := telemetry.Client{Conn: r.Conn.ID, ID: string(r.ClientID), HasID: r.ClientID != nil, Address: r.Conn.Remote}
	c.SoftwareName, c.SoftwareVersion = r.Conn.Software()
	return c
}
