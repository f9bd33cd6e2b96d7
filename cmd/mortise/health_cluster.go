package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/cmd/internal/adminhttp"
	"github.com/mortisemq/mortise/core/broker"
)

// askCluster adds what the nodes that have answered know of the cluster, and gives the
// admin listeners of the other nodes that live.
func (v *healthView) askCluster(ctx context.Context) (others []string) {
	var newest *broker.ClusterReport
	known := map[int32]bool{}
	var addresses []string
	for _, l := range v.Listeners {
		known[l.Broker] = true
		addresses = append(addresses, l.Address)
	}
	for _, answer := range adminhttp.Each[broker.ClusterReport](ctx, addresses, "/v1/cluster") {
		p := &answer.Page
		if answer.Err == nil && p.ClusterID == v.ClusterID && (newest == nil || p.Index > newest.Index) {
			newest = p
		}
	}
	if newest == nil {
		return nil
	}
	v.addCluster(newest)
	living := slices.DeleteFunc(newest.Nodes, func(n broker.ClusterNode) bool { return n.State == nodeFenced })
	return othersListeners(living, known)
}

// States of a node that is not there, and of one that is made ready to be stopped.
const (
	nodeFenced   = "fenced"
	nodeDraining = "draining"
)

// addCluster adds what one node knows of the whole.
func (v *healthView) addCluster(p *broker.ClusterReport) {
	if p.Raft.Leader < 0 {
		v.add("no-controller", fmt.Sprintf("broker %d knows no controller: topics, leaders and nodes can't change", p.Broker),
			"start the nodes that decide: more than half of them must live; mortise cluster voters shows them where one still knows")
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		switch {
		case n.State == nodeFenced:
			v.Fenced = append(v.Fenced, n.ID)
			v.add("node-gone", fmt.Sprintf("node %d is not there; it has %s", n.ID, counted(n.Replicas, "replica")),
				fmt.Sprintf("start it; if it is gone for good: mortise cluster reassign --away %d --execute, then mortise cluster members remove %d", n.ID, n.ID))
		case n.State == nodeDraining && p.Partitions.UnderReplicated > 0: // which it explains
			v.add("node-draining", fmt.Sprintf("node %d is drained, to be stopped", n.ID),
				fmt.Sprintf("stop it and start it again, or take that back: mortise cluster undrain %d", n.ID))
		case n.Full:
			v.add("node-full", fmt.Sprintf("node %d has no room in a log directory: others lead what they can", n.ID),
				"make room: delete topics, lower retention.ms or retention.bytes, or give it a larger disk; the node takes part again by itself")
		case n.Gossip == "dead":
			v.add("no-gossip", fmt.Sprintf("node %d lives, but does not gossip with node %d", n.ID, p.Broker),
				"let the nodes reach each other's cluster.gossip.listen by TCP and UDP, and give all of them the same keys")
		}
	}
	v.UnderMinISR = p.Partitions.UnderMinISR
	if v.UnderMinISR > 0 {
		v.tell(healthProblem{Kind: "under-min-isr", // of all of them
			What:   fmt.Sprintf("%s refuse acks=all: fewer replicas are in sync than min.insync.replicas", counted(v.UnderMinISR, "partition")),
			Advice: "start the brokers that are missing, and look at the health of each"})
	}
}
