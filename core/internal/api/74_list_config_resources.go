package api

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// ListConfigResources (key 74), versions 0–1.
//
// Behaviour: version 0 lists subscriptions to client metrics; version 1 everything
// that can have configs, or only some types of it. No types means all. Groups and
// subscriptions are there when they have values of their own.

// listConfigResources answers key 74.
func (a *API) listConfigResources(r *wire.Request) {
	var q kmsg.ListConfigResourcesRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrListConfigResourcesResponse()
	wanted, known := wantedResources(&q)
	switch {
	case !a.authorizeCluster(r, OpDescribeConfigs):
		resp.ErrorCode = int16(kafka.ErrClusterAuthorizationFailed)
	case !known:
		resp.ErrorCode = int16(kafka.ErrUnsupportedVersion)
	default:
		resp.ConfigResources = configResources(a.image(), wanted)
	}
	r.ReplyMessage(resp)
}

// wantedResources is the set of types that is asked for; known is false when there
// is one that nobody knows.
func wantedResources(q *kmsg.ListConfigResourcesRequest) (wanted map[meta.ResourceType]bool, known bool) {
	types := q.ResourceTypes
	switch {
	case q.Version == 0:
		types = []int8{int8(meta.ResourceClientMetrics)}
	case len(types) == 0:
		types = []int8{int8(meta.ResourceTopic), int8(meta.ResourceBroker), int8(meta.ResourceBrokerLogger),
			int8(meta.ResourceClientMetrics), int8(meta.ResourceGroup)}
	}
	wanted = map[meta.ResourceType]bool{}
	for _, t := range types {
		if !describable(meta.ResourceType(t)) {
			return nil, false
		}
		wanted[meta.ResourceType(t)] = true
	}
	return wanted, true
}

// configResources are the resources of the wanted types, in Kafka's order: groups,
// subscriptions, brokers, topics.
func configResources(img *meta.Image, wanted map[meta.ResourceType]bool) (out []kmsg.ListConfigResourcesResponseConfigResource) {
	add := func(name string, t meta.ResourceType) {
		if wanted[t] {
			out = append(out, kmsg.ListConfigResourcesResponseConfigResource{Name: name, Type: int8(t)})
		}
	}
	for _, t := range []meta.ResourceType{meta.ResourceGroup, meta.ResourceClientMetrics} {
		for r := range img.ConfigResourcesOf(t) {
			add(r.Name, t)
		}
	}
	for b := range img.Brokers() {
		name := strconv.Itoa(int(b.ID))
		add(name, meta.ResourceBrokerLogger)
		add(name, meta.ResourceBroker)
	}
	if wanted[meta.ResourceTopic] {
		for t := range img.Topics() {
			add(t.Name, meta.ResourceTopic)
		}
	}
	return out
}
