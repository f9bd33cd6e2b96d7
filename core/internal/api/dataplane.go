package api

import (
	"sync"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/wire"
)

// adminClientID is the client id that may write to internal topics, as in Kafka.
const adminClientID = "__admin_client"

// dataPlane is what the handlers of records and offsets share.
type dataPlane struct {
	sessions    *fetchSessions
	producerIDs *producerIDs

	produceCalls, fetchCalls sync.Pool // of *produceCall, *fetchCall

	produced, fetched           *metrics.Counter // bytes
	producedBatches, emptyFetch *metrics.Counter
}

// newDataPlane makes the shared parts.
func newDataPlane(d *Deps) *dataPlane {
	slots := func() int { return d.Config().Broker(d.Control.Image(), d.Self).MaxIncrementalFetchSessionCacheSlots }
	return &dataPlane{
		sessions:        newFetchSessions(d.Clock, d.Purgatory, slots, d.Metrics),
		producerIDs:     newProducerIDs(d.Control),
		produced:        d.Metrics.Counter("mortise_api_produced_bytes_total", "Bytes of batches that producers appended."),
		producedBatches: d.Metrics.Counter("mortise_api_produced_batches_total", "Batches that producers appended."),
		fetched:         d.Metrics.Counter("mortise_api_fetched_bytes_total", "Bytes of records in fetch answers."),
		emptyFetch:      d.Metrics.Counter("mortise_api_empty_fetches_total", "Fetch answers without records."),
	}
}

// close ends what runs in the background and waits for it.
func (d *dataPlane) close() { d.producerIDs.close() }

// isInternalTopic reports whether only the broker itself may write to a topic.
func isInternalTopic(name string) bool {
	switch name {
	case "__consumer_offsets", "__transaction_state", "__share_group_state":
		return true
	}
	return false
}

// lookup finds the partition that a request names by topic name or, where the
// version has it, by topic id.
//
// Hot: per partition. 0 allocs.
func (a *API) lookup(byID bool, name []byte, id kafka.TopicID, number int32) (*partition.Partition, kafka.ErrorCode) {
	if byID {
		return a.deps.Roles.ByID(id, number)
	}
	return a.deps.Roles.ByNameBytes(name, number)
}

// leaderOf finds who leads a partition, to tell a client that asked the wrong
// broker (KIP-951). It is nil when that is not known.
func (a *API) leaderOf(byID bool, name []byte, id kafka.TopicID, number int32) *wire.CurrentLeader {
	img := a.deps.Control.Image()
	t, ok := img.TopicByID(id)
	if !byID {
		t, ok = img.Topic(string(name))
	}
	if !ok || number < 0 || int(number) >= len(t.Partitions) {
		return nil
	}
	p := &t.Partitions[number]
	return &wire.CurrentLeader{ID: p.Leader, Epoch: p.LeaderEpoch}
}

// addEndpoint adds the address of a leader as clients of the listener see it,
// once.
func (a *API) addEndpoint(all []wire.NodeEndpoint, leader *wire.CurrentLeader, listener string) []wire.NodeEndpoint {
	for i := range all {
		if all[i].ID == leader.ID {
			return all
		}
	}
	b, ok := a.deps.Control.Image().Broker(leader.ID)
	if !ok {
		return all
	}
	e, ok := b.Endpoint(listener)
	if !ok {
		return all
	}
	return append(all, wire.NodeEndpoint{ID: b.ID, Host: e.Host, Port: e.Port, Rack: b.Rack})
}
