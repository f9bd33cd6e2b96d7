package cluster

import (
	"context"
	"slices"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/kafka"
)

// Controller implements broker.Neighbours.
func (h *neighbourhood) Controller() kafka.BrokerID {
	id, _ := h.group.Leader()
	return id
}

// Describe implements broker.Neighbours.
func (h *neighbourhood) Describe(r *broker.ClusterReport) {
	s := h.group.Status()
	r.Raft.State, r.Raft.Term, r.Raft.LastIndex, r.Raft.CommitIndex, r.Raft.AppliedIndex = s.State, s.Term, s.LastIndex, s.CommitIndex, s.AppliedIndex
	if s.LastContact >= 0 {
		r.Raft.LastContactMS = s.LastContact.Milliseconds()
	}
	health := h.gossip.Health()
	r.Gossip = &broker.ClusterGossip{Members: health.Members, Encrypted: health.Encrypted, Keys: health.Keys, Health: health.Score}
	for _, m := range s.Members {
		h.describe(r, m.ID, m.Voter)
	}
	ages := h.loop.Load().Ages(context.Background())
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if age, ok := ages[kafka.BrokerID(n.ID)]; ok {
			n.HeartbeatAgeMS = age.Milliseconds()
		}
		h.describeGossip(n)
	}
}

// describe puts a member of the control plane into a report. One that is no broker yet
// gets a line of its own.
func (h *neighbourhood) describe(r *broker.ClusterReport, id kafka.BrokerID, voter bool) {
	i := slices.IndexFunc(r.Nodes, func(n broker.ClusterNode) bool { return n.ID == int32(id) })
	if i < 0 {
		i = len(r.Nodes)
		r.Nodes = append(r.Nodes, broker.ClusterNode{ID: int32(id), Epoch: -1, State: "fenced", Gossip: "unknown",
			HeartbeatAgeMS: -1, Listeners: []broker.ClusterListener{}})
	}
	r.Nodes[i].Voter = voter
}

// describeGossip puts what a node says of itself into its line.
func (h *neighbourhood) describeGossip(n *broker.ClusterNode) {
	facts, state := h.gossip.Facts(), "alive"
	if kafka.BrokerID(n.ID) != h.id {
		m, ok := h.gossip.Find(kafka.BrokerID(n.ID))
		if !ok {
			return
		}
		facts, state = m.Facts, m.State.String()
	}
	n.Gossip, n.Admin = state, facts.Admin
	if n.Peer == "" {
		n.Peer = facts.Peer
	}
}

// RoomChanged implements broker.Neighbours.
func (h *neighbourhood) RoomChanged() {
	if beater := h.beater.Load(); beater != nil {
		beater.RoomChanged()
	}
}

// Drain implements broker.Neighbours.
func (h *neighbourhood) Drain(ctx context.Context, id kafka.BrokerID, epoch kafka.BrokerEpoch) error {
	return h.decide(ctx, &metadata.BeginShutdown{ID: id, Epoch: epoch})
}

// Undrain implements broker.Neighbours.
func (h *neighbourhood) Undrain(ctx context.Context, id kafka.BrokerID, epoch kafka.BrokerEpoch) error {
	return h.decide(ctx, &metadata.UnfenceBroker{ID: id, Epoch: epoch, Drained: true})
}

// decide has a command decided whose only result is an error.
func (h *neighbourhood) decide(ctx context.Context, c metadata.Command) error {
	r, err := h.group.Propose(ctx, c)
	if err == nil && r.Err != nil {
		err = r.Err
	}
	return err
}
