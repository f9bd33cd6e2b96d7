package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/wire"
)

// Requests are counted by the server as they arrive. Here it is counted how long
// answers take that are not about records, and what is refused. Produce and Fetch
// have counters of their own; their time is the time that clients let them wait.

// reply answers with a message and notes how long it took.
func (a *API) reply(r *wire.Request, m kmsg.Response) {
	a.deps.Metrics.Histogram("mortise_api_answer_seconds", "Time from a request's arrival to its answer, by API key; not for keys about records.",
		metrics.SecondsBounds(), "key", kmsg.NameForKey(r.Key)).Observe(a.deps.Clock.Now().Sub(r.Received).Seconds())
	r.ReplyMessage(m)
}

// code is the number of an error on the wire. It counts the error under the key of
// the request, which must not be answered yet.
func (a *API) code(r *wire.Request, why *kafka.Error) int16 {
	if why == nil {
		return int16(kafka.None)
	}
	a.count(r, why.Code)
	return int16(why.Code)
}

// count counts an error under the key of the request, which must not be answered
// yet. Without an error it costs nothing.
func (a *API) count(r *wire.Request, code kafka.ErrorCode) {
	if code == kafka.None {
		return
	}
	a.deps.Metrics.Counter("mortise_api_refusals_total", "What was refused: topics, partitions, resources or whole requests, by API key and error.",
		"key", kmsg.NameForKey(r.Key), "error", code.String()).Add(1)
}
