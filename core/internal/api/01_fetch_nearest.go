package api

import (
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Where a consumer should read (KIP-392). With Kafka's rack-aware selector the leader
// sends a consumer to a replica of its rack: one that is in sync and has the offset, of
// several the one that has most. Other selectors would be code of Kafka's.

// nearest is the replica that a consumer should read from instead of this leader;
// NoBroker: this one.
func (c *fetchCall) nearest(p *fetchPart) kafka.BrokerID {
	role := p.partition.Role()
	if len(c.req.Rack) == 0 || !role.Leading || len(role.Replicas) < 2 {
		return kafka.NoBroker
	}
	img := c.a.image()
	if !c.a.broker(img).Replication.RackAware || c.inRack(img, c.a.deps.Self) {
		return kafka.NoBroker
	}
	best, most := kafka.NoBroker, kafka.NoOffset
	for _, id := range role.Replicas {
		if id == c.a.deps.Self || !c.inRack(img, id) {
			continue
		}
		if end := readable(p.partition, id, p.want.FetchOffset); end > most || end == most && end >= 0 && id > best {
			best, most = id, end
		}
	}
	return best
}

// readable is where a follower's log ends, as the leader knows it; NoOffset: it is not
// in sync, or does not have the offset.
func readable(p *partition.Partition, id kafka.BrokerID, from kafka.Offset) kafka.Offset {
	start, end, inSync := p.FollowerAt(id)
	if !inSync || start > from || end < from {
		return kafka.NoOffset
	}
	return end
}

// inRack reports whether a broker is in the rack of the consumer, and can be reached
// by it.
func (c *fetchCall) inRack(img *meta.Image, id kafka.BrokerID) bool {
	b, ok := img.Broker(id)
	if !ok || b.Fenced || b.Rack != string(c.req.Rack) {
		return false
	}
	_, ok = b.Endpoint(c.r.Conn.Listener)
	return ok
}
