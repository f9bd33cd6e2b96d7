package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/mortisemq/mortise/cluster/membership"
	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vnet"
)

// PeerOptions are a node's place among others. The zero value is a node that stays
// alone.
type PeerOptions struct {
	// Listen is where other nodes reach this one, host:port; empty: it stays alone.
	Listen string
	// Advertise is what they are told, host:port; empty: the bound address.
	Advertise string
	// Join are peer addresses of nodes of the cluster; one that lives is enough. A
	// name may have many addresses, @file has one host:port a line. Empty: a new node
	// begins a cluster. They count only until the node belongs to one.
	Join []string

	// GossipListen is where nodes gossip, host:port for packets and streams; empty: a
	// free port of the host of Listen. Others find it over the peer port.
	GossipListen string
	// GossipAdvertise is what others are told of it; empty: the bound address.
	GossipAdvertise string
	// GossipKeys encrypt gossip: the first does, all are tried. Empty: it is not. Nodes
	// prove to each other on the peer port that they have one; what they say there is
	// not encrypted.
	GossipKeys [][]byte

	// Voters is how many nodes vote in the control plane: 1, 3 or 5; 0: by the number of
	// nodes.
	Voters int
	// VoterReplaceAfter is after how long a voter that is gone loses its vote; 0: 60 s.
	VoterReplaceAfter time.Duration
}

// check says what is wrong with the options.
func (o *PeerOptions) check() error {
	if o.Listen == "" {
		if len(o.Join) > 0 {
			return fmt.Errorf("a node that does not listen for other nodes cannot join any (%q)", o.Join)
		}
		return nil
	}
	if o.Advertise != "" {
		return nil
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("peer address %q: %w", o.Listen, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("peer address %q: other nodes cannot dial that: say which address they are told", o.Listen)
	}
	return nil
}

// openPort opens the peer port; nil: the node stays alone.
func openPort(o *PeerOptions, id kafka.BrokerID, network vnet.Network, log *slog.Logger) (*peer.Port, error) {
	if err := o.check(); err != nil || o.Listen == "" {
		return nil, err
	}
	return peer.Listen(peer.Options{Net: network, Address: o.Listen, Advertised: o.Advertise, Node: id, Format: metadata.Format, Keys: o.GossipKeys, Log: log})
}

// joinFrom gives the addresses to join, looked up anew each time; nil: there are none.
func joinFrom(ctx context.Context, entries []string, log *slog.Logger) func() []string {
	if len(entries) == 0 {
		return nil
	}
	return func() []string {
		addresses, err := membership.Resolve(ctx, entries, nil)
		if err != nil {
			log.Warn("addresses to join", "error", err)
		}
		return addresses
	}
}
