package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/cluster/consensus"
	"github.com/mortisemq/mortise/cluster/controller"
	"github.com/mortisemq/mortise/cluster/membership"
	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/vnet"
)

// drainMax bounds how long a node that stops waits for others to take over what it
// leads; a shorter end of its context counts, too.
const drainMax = 10 * time.Second

// neighbourhood is what a node does because of others: it gossips, sends heartbeats,
// and watches them all while it leads the control plane.
type neighbourhood struct {
	id      kafka.BrokerID
	port    *peer.Port
	group   *consensus.Group
	session *session
	log     *slog.Logger
	keys    config.Replication
	losses  *metrics.Counter // of nodes, by gossip

	gossip *membership.Membership
	loop   atomic.Pointer[controller.Loop]   // nil: not yet
	beater atomic.Pointer[controller.Beater] // nil until the broker has registered

	leaving sync.WaitGroup
	stop    context.CancelFunc // ends watchPlugins; nil until the broker has registered
	looking sync.WaitGroup
}

// meet begins to gossip and, when this node leads, to watch the others.
func meet(n *Node, o *Options, log func(name string) *slog.Logger) (*neighbourhood, error) {
	network := vnet.PacketNetwork(vnet.OS())
	if o.Broker.Net != nil {
		var ok bool
		if network, ok = o.Broker.Net.(vnet.PacketNetwork); !ok {
			return nil, errors.New("gossip: the network carries no packets")
		}
	}
	h := &neighbourhood{id: o.Broker.NodeID, port: n.port, group: n.group, log: log("mortise.controller"),
		session: &session{Registrar: o.Broker.Registrar},
		losses:  o.Broker.Metrics.Counter("mortise_membership_losses_total", "Times that gossip lost a node, by fault or because it left.")}
	gossip, err := membership.Start(membership.Options{Net: network, Listen: o.Peer.gossipListen(),
		Advertised: o.Peer.gossipAdvertise(n.port.Advertised()), Keys: o.Peer.GossipKeys,
		Facts: membership.Facts{ID: h.id, Instance: n.port.Instance(), ClusterID: n.group.Image().Identity(),
			Peer: n.port.Advertised(), Rack: o.Broker.Rack},
		Seeds: h.seeds(o.Peer.Join), Suspected: h.suspected, Log: log("mortise.membership")})
	if err != nil {
		return nil, err
	}
	h.gossip = gossip
	n.port.Handle(peer.KindGossip, func(context.Context, []byte) ([]byte, error) {
		return []byte(gossip.Address().String()), nil
	})
	h.keys = config.NewResolver(o.Broker.Static).For(h.id).Broker(n.group.Image(), h.id).Replication
	h.loop.Store(h.watch(&o.Peer, o.Broker.Metrics))
	n.port.Handle(peer.KindHeartbeat, h.loop.Load().Answer)
	return h, nil
}

// watch starts what runs while this node leads.
func (h *neighbourhood) watch(o *PeerOptions, r *metrics.Registry) *controller.Loop {
	c := controller.Config{Self: h.id, SessionTimeout: milliseconds(h.keys.SessionTimeoutMS),
		HeartbeatInterval: milliseconds(h.keys.HeartbeatIntervalMS), Voters: o.Voters, VoterReplaceAfter: o.VoterReplaceAfter}
	if h.keys.AutoRebalance {
		c.RebalanceInterval = milliseconds(h.keys.RebalanceIntervalMS)
	}
	return controller.Start(controller.Options{Config: c, Image: h.group.Image, Watch: h.group.Watch,
		Leadership: h.group.Leadership(), Members: h.members, Propose: h.group.Propose, Change: h.change,
		Ping: h.ping, Lost: h.gossip.Lost, Log: h.log, Metrics: r})
}

// milliseconds is a duration of Kafka's config.
func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// suspected passes on that gossip has lost a node.
func (h *neighbourhood) suspected(kafka.BrokerID) {
	h.losses.Add(1)
	if loop := h.loop.Load(); loop != nil {
		loop.Suspect()
	}
}

// members are those of the control plane, as the controller sees them.
func (h *neighbourhood) members(context.Context) ([]controller.Member, error) {
	members := h.group.Members()
	all := make([]controller.Member, len(members))
	for i, m := range members {
		all[i] = controller.Member(m)
	}
	return all, nil
}

// change makes one change of the members.
func (h *neighbourhood) change(ctx context.Context, c controller.VoterChange) error {
	switch c.Kind {
	case controller.Promote:
		return h.group.Promote(ctx, c.ID)
	case controller.Demote:
		return h.group.Demote(ctx, c.ID)
	default:
		return h.group.Remove(ctx, c.ID)
	}
}

// ping asks a node whether it is there.
func (h *neighbourhood) ping(ctx context.Context, id kafka.BrokerID) error {
	_, err := h.group.Call(ctx, id, peer.KindPing, nil)
	return err
}

// registered begins the heartbeats of a broker, tells others where people find this node,
// and answers them what groups have committed.
func (h *neighbourhood) registered(b *broker.Broker) error {
	h.beater.Store(controller.Beat(controller.BeaterOptions{ID: h.id, Interval: milliseconds(h.keys.HeartbeatIntervalMS),
		Epoch:   func() kafka.BrokerEpoch { return h.session.Epoch(h.group.Image(), b.Registered) },
		Applied: func() uint64 { return h.group.Image().Index }, Log: h.log,
		Full:     b.Full,
		Answered: b.Heard,
		Register: func(ctx context.Context) error { return h.session.Again(ctx, b.Registered) },
		Rejoin:   h.group.CatchUp,
		Send: func(ctx context.Context, body []byte) ([]byte, error) {
			return h.group.CallLeader(ctx, peer.KindHeartbeat, body)
		}}))
	h.port.Handle(peer.KindOffsets, answerOffsets(b.Committed))
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.looking.Go(func() { h.watchPlugins(ctx, b.PluginSet) })
	admin := b.AdminAddr()
	if admin == nil {
		return nil
	}
	address, err := reachable(admin.String(), h.port.Advertised())
	if err != nil {
		return fmt.Errorf("admin address: %w", err)
	}
	return h.gossip.Update(func(f *membership.Facts) { f.Admin = address })
}

// reachable is a bound address as others may use it: one that means all addresses gets
// the host by which they know this node.
func reachable(bound, known string) (string, error) {
	host, port, err := net.SplitHostPort(bound)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, _, err = net.SplitHostPort(known); err != nil {
			return "", err
		}
	}
	return net.JoinHostPort(host, port), nil
}

// leave lets others take over what this node leads, and tells them that it goes. That
// they can't does not keep it: what it has is on its disks.
func (h *neighbourhood) leave(ctx context.Context) {
	h.stopLooking()
	if beater := h.beater.Load(); beater != nil && othersServe(h.group.Image(), h.id) {
		wait, cancel := context.WithTimeout(ctx, drainTime(ctx))
		if err := beater.Stop(wait); err != nil {
			h.log.Warn("this node stops with partitions that others could lead", "error", err)
		}
		cancel()
	}
	h.leaving.Go(func() { // the broker stops meanwhile
		if err := h.gossip.Leave(ctx); err != nil {
			h.log.Debug("gossip was not told", "error", err)
		}
	})
}

// drainTime is how long a stop may wait for others: half of what is left of ctx at most,
// because the rest of the stop needs time, too.
func drainTime(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(time.Until(end)/2, drainMax)
	}
	return drainMax
}

// othersServe says whether a broker other than id is in service.
func othersServe(image *meta.Image, id kafka.BrokerID) bool {
	for b := range image.Brokers() {
		if b.ID != id && b.Active() {
			return true
		}
	}
	return false
}

// stopLooking ends watchPlugins.
func (h *neighbourhood) stopLooking() {
	if h.stop != nil {
		h.stop()
		h.looking.Wait()
	}
}

// close ends all of it.
func (h *neighbourhood) close() error {
	h.stopLooking()
	h.leaving.Wait()
	if beater := h.beater.Load(); beater != nil {
		beater.Close()
	}
	if loop := h.loop.Load(); loop != nil {
		loop.Close()
	}
	return h.gossip.Close()
}
