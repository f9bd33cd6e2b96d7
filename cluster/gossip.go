package cluster

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/mortisemq/mortise/cluster/membership"
	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
)

// Bounds of the search for whom to gossip with.
const (
	seedCalls   = 8 // nodes asked at once
	seedTimeout = time.Second
)

// gossipListen is where the node gossips; unless somebody chose, on a free port.
func (o *PeerOptions) gossipListen() string {
	if o.GossipListen != "" {
		return o.GossipListen
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return o.Listen
	}
	return net.JoinHostPort(host, "0")
}

// gossipAdvertise is what others are told of it; empty: the bound address. A node that
// listens on all addresses is known by the host that the others dial anyhow.
func (o *PeerOptions) gossipAdvertise(known string) string {
	if o.GossipAdvertise != "" {
		return o.GossipAdvertise
	}
	host, _, err := net.SplitHostPort(o.gossipListen())
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return ""
	}
	if host, _, err = net.SplitHostPort(known); err != nil {
		return ""
	}
	return net.JoinHostPort(host, "0") // the bound port
}

// SetGossipKeys replaces the keys that encrypt gossip and that nodes show each other;
// see membership.SetKeys. A node that is alone has none.
func (n *Node) SetGossipKeys(keys [][]byte) error {
	if n.others == nil {
		return nil
	}
	if err := n.others.gossip.SetKeys(keys); err != nil {
		return err
	}
	n.port.SetKeys(keys)
	return nil
}

// target is somebody to ask where it gossips.
type target struct {
	id      kafka.BrokerID // NoBroker: whoever is there
	address string
}

// seeds are where nodes gossip that gossip does not find. People name peer addresses
// only, and the image holds those of all brokers; each is asked for the other one.
func (h *neighbourhood) seeds(join []string) func(context.Context, func(kafka.BrokerID) bool) []string {
	return func(ctx context.Context, alive func(kafka.BrokerID) bool) []string {
		targets := h.missing(ctx, join, alive)
		rand.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
		targets = targets[:min(len(targets), seedCalls)]
		found := make([]string, len(targets))
		ctx, cancel := context.WithTimeout(ctx, seedTimeout)
		defer cancel()
		var asking sync.WaitGroup
		for i, t := range targets {
			asking.Go(func() {
				if answer, err := h.port.Call(ctx, t.id, t.address, peer.KindGossip, nil); err == nil {
					found[i] = string(answer)
				}
			})
		}
		asking.Wait()
		return slices.DeleteFunc(found, func(s string) bool { return s == "" })
	}
}

// missing are the brokers that are not alive to gossip, and, while none is, the
// addresses to join.
func (h *neighbourhood) missing(ctx context.Context, join []string, alive func(kafka.BrokerID) bool) (targets []target) {
	met := 0
	for b := range h.group.Image().Brokers() {
		switch {
		case alive(b.ID):
			met++
		case b.ID != h.id && b.Peer != "":
			targets = append(targets, target{b.ID, b.Peer})
		}
	}
	if met > 0 || len(join) == 0 {
		return targets
	}
	addresses, err := membership.Resolve(ctx, join, nil)
	if err != nil {
		h.log.Debug("addresses to join", "error", err)
	}
	for _, address := range addresses {
		targets = append(targets, target{kafka.NoBroker, address})
	}
	return targets
}
