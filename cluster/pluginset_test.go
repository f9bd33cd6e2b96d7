package cluster

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cluster/membership"
	"github.com/mortisemq/mortise/core/kafka"
)

func TestOtherPluginsAreToldOnce(t *testing.T) {
	var out bytes.Buffer
	p := pluginSets{log: slog.New(slog.NewTextHandler(&out, nil)), differ: map[kafka.BrokerID]difference{}}
	node := func(plugins uint64, s membership.State) []membership.Member {
		return []membership.Member{{Facts: membership.Facts{ID: 2, Plugins: plugins}, State: s}}
	}
	for i, c := range []struct {
		own, its uint64
		state    membership.State
		lines    int // so far
	}{
		{1, 1, membership.Alive, 0},
		{1, 2, membership.Alive, 0}, // perhaps it is being changed
		{1, 2, membership.Alive, 1},
		{1, 2, membership.Alive, 1},
		{1, 3, membership.Alive, 2}, // another difference
		{1, 3, membership.Alive, 2},
		{1, 3, membership.Dead, 2},
		{1, 3, membership.Alive, 2},
		{1, 1, membership.Alive, 2},
		{1, 0, membership.Alive, 2}, // it does not know yet
		{0, 1, membership.Alive, 2}, // nor this one
		{0, 1, membership.Alive, 2},
	} {
		p.look(c.own, node(c.its, c.state))
		if n := strings.Count(out.String(), "other plugins"); n != c.lines {
			t.Errorf("look %d: %d lines, want %d:\n%s", i, n, c.lines, out.String())
		}
	}
}

func TestWhereNodesGossip(t *testing.T) {
	for _, c := range []struct {
		o                 PeerOptions
		known             string
		listen, advertise string
	}{
		{PeerOptions{Listen: "10.0.0.1:9390"}, "10.0.0.1:9390", "10.0.0.1:0", ""},
		{PeerOptions{Listen: "0.0.0.0:9390"}, "node1:9390", "0.0.0.0:0", "node1:0"},
		{PeerOptions{Listen: ":9390"}, "node1:9390", ":0", "node1:0"},
		{PeerOptions{Listen: "10.0.0.1:9390", GossipListen: "0.0.0.0:7946"}, "10.0.0.1:9390", "0.0.0.0:7946", "10.0.0.1:0"},
		{PeerOptions{Listen: "10.0.0.1:9390", GossipListen: "10.0.0.2:7946"}, "10.0.0.1:9390", "10.0.0.2:7946", ""},
		{PeerOptions{Listen: "10.0.0.1:9390", GossipAdvertise: "nat:1"}, "10.0.0.1:9390", "10.0.0.1:0", "nat:1"},
	} {
		if got := c.o.gossipListen(); got != c.listen {
			t.Errorf("%+v listens at %s, want %s", c.o, got, c.listen)
		}
		if got := c.o.gossipAdvertise(c.known); got != c.advertise {
			t.Errorf("%+v advertises %q, want %q", c.o, got, c.advertise)
		}
	}
}

func TestReachableAdmin(t *testing.T) {
	for _, c := range [][3]string{
		{"127.0.0.1:9644", "node1:9390", "127.0.0.1:9644"},
		{"[::]:9644", "node1:9390", "node1:9644"},
		{"0.0.0.0:9644", "10.0.0.1:9390", "10.0.0.1:9644"},
	} {
		if got, err := reachable(c[0], c[1]); err != nil || got != c[2] {
			t.Errorf("%v: %s, %v", c, got, err)
		}
	}
}
