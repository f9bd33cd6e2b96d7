package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// The server counts requests and the time of their answers. Here it is counted what
// is refused.

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
