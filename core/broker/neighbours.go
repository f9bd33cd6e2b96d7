package broker

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Neighbours is what a broker's control plane knows of other nodes beyond the image,
// and does for people. It is safe for concurrent use.
type Neighbours interface {
	// Controller is who decides, as far as this node knows; NoBroker: nobody. It never
	// asks another node.
	Controller() kafka.BrokerID
	// Describe completes a report that has what the image says: who votes, how raft
	// and gossip are, where admin listeners are. It may add nodes.
	Describe(r *ClusterReport)
	// RoomChanged says that Broker.Full may be another than it was. It does not wait.
	RoomChanged()
	// Drain has a node give away what it leads, and keeps new partitions from it.
	Drain(ctx context.Context, id kafka.BrokerID, epoch kafka.BrokerEpoch) error
	// Undrain takes a Drain back.
	Undrain(ctx context.Context, id kafka.BrokerID, epoch kafka.BrokerEpoch) error
	// Committed asks another node what Broker.Committed of its broker says.
	Committed(ctx context.Context, id kafka.BrokerID, topics []string) (Committed, error)
}

// cluster is the answer of /v1/cluster.
//
// Cost: a walk over all partitions, about 10 ms for 100,000.
func (b *Broker) cluster() admin.Cluster {
	img := b.image()
	r := admin.Cluster{ClusterID: img.ClusterID, Broker: int32(b.options.NodeID), Index: img.Index,
		Raft: admin.Raft{Leader: int32(b.controller()), LastContactMS: -1}, Nodes: []admin.Node{}}
	held := b.countHeld(img, &r.Partitions)
	for broker := range img.Brokers() {
		r.Nodes = append(r.Nodes, clusterNode(broker, held[broker.ID]))
	}
	if b.options.Neighbours != nil {
		b.options.Neighbours.Describe(&r)
	}
	slices.SortFunc(r.Nodes, func(x, y admin.Node) int { return cmp.Compare(x.ID, y.ID) })
	return r
}

// controller is who decides, as far as this node knows.
func (b *Broker) controller() kafka.BrokerID {
	if n := b.options.Neighbours; n != nil {
		return n.Controller()
	}
	return b.options.Control.Quorum().Leader
}

// heldCounts is what a broker holds.
type heldCounts struct{ leaders, preferred, replicas int }

// countHeld counts the partitions of an image, and what each broker has of them.
func (b *Broker) countHeld(img *meta.Image, c *admin.PartitionCounters) map[kafka.BrokerID]*heldCounts {
	all := map[kafka.BrokerID]*heldCounts{}
	of := func(id kafka.BrokerID) *heldCounts {
		h := all[id]
		if h == nil {
			h = &heldCounts{}
			all[id] = h
		}
		return h
	}
	c.Total, c.Offline, c.Reassigning = img.PartitionCount(), img.Leaderless(), img.Reassigning()
	for t := range img.Topics() {
		for n := range t.Partitions {
			p := &t.Partitions[n]
			of(p.Leader).leaders++
			of(p.Replicas[0]).preferred++
			for _, id := range p.Replicas {
				of(id).replicas++
			}
			if len(p.ISR) == len(p.Replicas) {
				continue // the config of a topic costs more than all the rest
			}
			state := stateOf(p.Replicas, p.ISR, b.resolver.Topic(img, t.Name).MinInsyncReplicas)
			c.UnderReplicated += count(state.underReplicated)
			c.UnderMinISR += count(state.underMinISR)
		}
	}
	return all
}

// count is 1 for what is so.
func count(so bool) int {
	if so {
		return 1
	}
	return 0
}

// clusterNode is what the image says of a broker.
func clusterNode(b *meta.Broker, h *heldCounts) admin.Node {
	n := admin.Node{ID: int32(b.ID), Rack: b.Rack, Epoch: int64(b.Epoch), State: admin.NodeActive, Full: b.Full, Peer: b.Peer,
		Gossip: "unknown", HeartbeatAgeMS: -1, Listeners: []admin.NodeListener{}}
	switch {
	case b.Fenced:
		n.State = admin.NodeFenced
	case b.ShuttingDown:
		n.State = admin.NodeDraining
	}
	for _, e := range b.Endpoints {
		n.Listeners = append(n.Listeners, admin.NodeListener{Name: e.Listener, Host: e.Host, Port: e.Port})
	}
	if h != nil {
		n.Leaders, n.Preferred, n.Replicas = h.leaders, h.preferred, h.replicas
	}
	return n
}

// drainNode answers /v1/cluster/drain and /v1/cluster/undrain.
func (b *Broker) drainNode(ctx context.Context, id int32, undo bool) (admin.Drained, error) {
	node, ok := b.image().Broker(kafka.BrokerID(id))
	if !ok {
		return admin.Drained{}, fmt.Errorf("%w: %d", admin.ErrNoNode, id)
	}
	change := b.options.Neighbours.Drain
	if undo {
		change = b.options.Neighbours.Undrain
	}
	if err := change(ctx, node.ID, node.Epoch); err != nil {
		return admin.Drained{}, err
	}
	var all admin.PartitionCounters
	done := admin.Drained{Broker: id}
	if h := b.countHeld(b.image(), &all)[node.ID]; h != nil {
		done.Leaders = h.leaders
	}
	return done, nil
}
