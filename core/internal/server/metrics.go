package server

import (
	"strconv"
	"time"

	"github.com/mortisemq/mortise/core/metrics"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// counters are the server's metrics. Counting is an atomic add.
type counters struct {
	connections *metrics.Gauge
	accepted    *metrics.Counter
	bytesIn     *metrics.Counter
	bytesOut    *metrics.Counter
	inFlight    *metrics.Gauge
	budgetWaits *metrics.Counter
	rejected    [reasons]*metrics.Counter
	requests    []*metrics.Counter   // by key
	seconds     []*metrics.Histogram // by key; nil: not answered here
	otherKey    *metrics.Counter
}

func newCounters(reg *metrics.Registry, versions func(key int16) (min, max int16, ok bool)) *counters {
	m := &counters{
		connections: reg.Gauge("mortise_server_connections", "Open client connections."),
		accepted:    reg.Counter("mortise_server_accepted_total", "Connections accepted."),
		bytesIn:     reg.Counter("mortise_server_received_bytes_total", "Bytes read from clients."),
		bytesOut:    reg.Counter("mortise_server_sent_bytes_total", "Bytes written to clients."),
		inFlight:    reg.Gauge("mortise_server_in_flight_requests", "Requests started and not yet written."),
		budgetWaits: reg.Counter("mortise_server_budget_waits_total", "Reads that waited for queued.max.request.bytes."),
	}
	for r := range m.rejected {
		m.rejected[r] = reg.Counter("mortise_server_rejected_total", "Connections refused or closed by the server, by reason.", "reason", reasonNames[r])
	}
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		var seconds *metrics.Histogram
		if _, _, ok := versions(key); ok {
			seconds = reg.Histogram("mortise_server_request_seconds", "Time from a request's arrival until its answer is ready, by API key; with the wait that a Fetch, JoinGroup or acks=all asks for.",
				metrics.SecondsBounds(), "key", keyName(key))
		}
		m.seconds = append(m.seconds, seconds)
		m.requests = append(m.requests, reg.Counter("mortise_server_requests_total", "Requests started, by API key.", "key", keyName(key)))
	}
	m.otherKey = reg.Counter("mortise_server_requests_total", "Requests started, by API key.", "key", "other")
	return m
}

// keyName is the name of an API key in Kafka's words.
func keyName(key int16) string {
	if name := kmsg.NameForKey(key); name != "" && name != "Unknown" {
		return name
	}
	return strconv.Itoa(int(key))
}

func (m *counters) request(key int16) {
	if key >= 0 && int(key) < len(m.requests) {
		m.requests[key].Add(1)
		return
	}
	m.otherKey.Add(1)
}

// answered notes how long an answer took. Hot: 0 allocs, two atomic operations.
func (m *counters) answered(key int16, took time.Duration) {
	if key >= 0 && int(key) < len(m.seconds) && m.seconds[key] != nil {
		m.seconds[key].Observe(took.Seconds())
	}
}
