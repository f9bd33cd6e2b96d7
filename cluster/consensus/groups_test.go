package consensus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/vnet"
)

// cluster are groups in one process on a network of memory, in a bubble of
// testing/synctest. Node n is on host "n<n>".
type cluster struct {
	t       *testing.T
	network *vnet.Mem
	nodes   map[kafka.BrokerID]*node
	root    string // where their directories are; empty: in memory
	id      string // the cluster's by their settings; empty: it has a random one
	log     *slog.Logger
}

// node is one of them; it keeps its disk while it is down.
type node struct {
	memory *Memory
	dir    string
	port   *peer.Port
	group  *Group // nil: down
}

// newCluster has nobody in it yet.
func newCluster(t *testing.T, seed uint64) *cluster {
	c := &cluster{t: t, network: vnet.NewMem(seed), nodes: map[kafka.BrokerID]*node{}}
	t.Cleanup(func() {
		for id := range c.nodes {
			c.stop(id)
		}
	})
	return c
}

func host(id kafka.BrokerID) string { return fmt.Sprint("n", id) }

func address(id kafka.BrokerID) string { return host(id) + ":9390" }

// open starts a node that joins the others, or begins the cluster if it is node 1.
func (c *cluster) open(id kafka.BrokerID) error {
	c.t.Helper()
	n := c.nodes[id]
	if n == nil {
		n = &node{memory: NewMemory()}
		if c.root != "" {
			n.dir = filepath.Join(c.root, host(id))
		}
		c.nodes[id] = n
	}
	var err error
	if n.port, err = peer.Listen(peer.Options{Net: c.network.Host(host(id)), Address: address(id), Node: id}); err != nil {
		c.t.Fatal(err)
	}
	o := Options{NodeID: id, ClusterID: c.id, Dir: n.dir, Memory: n.memory, Port: n.port, Log: c.log}
	if id != 1 {
		o.Join = func() []string { return []string{address(3), address(2), address(1)} }
	}
	ctx, stop := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer stop()
	if n.group, err = Open(ctx, o); err == nil {
		return nil
	}
	n.group = nil
	return errors.Join(err, n.port.Close())
}

// start opens a node and waits until it has caught up.
func (c *cluster) start(id kafka.BrokerID) *Group {
	c.t.Helper()
	if err := c.open(id); err != nil {
		c.t.Fatal(err)
	}
	c.catchUp(id)
	return c.nodes[id].group
}

func (c *cluster) catchUp(id kafka.BrokerID) {
	c.t.Helper()
	ctx, stop := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer stop()
	if err := c.nodes[id].group.CatchUp(ctx); err != nil {
		c.t.Fatalf("node %d: %v", id, err)
	}
}

// stop ends a node in order.
func (c *cluster) stop(id kafka.BrokerID) {
	c.t.Helper()
	n := c.nodes[id]
	if n.group == nil {
		return
	}
	if err := errors.Join(n.group.Close(), n.port.Close()); err != nil {
		c.t.Errorf("stop node %d: %v", id, err)
	}
	n.group = nil
}

// isolate cuts a node from all others; join ends that.
func (c *cluster) isolate(id kafka.BrokerID) {
	for other := range c.nodes {
		if other != id {
			c.network.Cut(host(id), host(other))
		}
	}
}

func (c *cluster) heal(id kafka.BrokerID) {
	for other := range c.nodes {
		if other != id {
			c.network.Heal(host(id), host(other))
		}
	}
}

// leader waits until a node of those that are up, without the ones named, leads.
func (c *cluster) leader(without ...kafka.BrokerID) kafka.BrokerID {
	c.t.Helper()
	begin := time.Now()
	for time.Since(begin) < 30*time.Second {
		for id, n := range c.nodes {
			skip := n.group == nil
			for _, w := range without {
				skip = skip || w == id
			}
			if !skip && n.group.Leads() {
				return id
			}
		}
		time.Sleep(10 * time.Millisecond) // of the bubble
	}
	c.t.Fatal("nobody leads after 30 s")
	return kafka.NoBroker
}

// lead has whoever leads do something, and asks again while it does not lead any more.
func (c *cluster) lead(f func(*Group) error) {
	c.t.Helper()
	for range 100 {
		err := f(c.nodes[c.leader()].group)
		if err == nil {
			return
		}
		if !retriable(err) {
			c.t.Fatal(err)
		}
		time.Sleep(leaderLook) // of the bubble: who led until now hears that it does not
	}
	c.t.Fatal("whoever leads never does it")
}

// three are nodes 1, 2 and 3, all of them voters.
func three(t *testing.T, seed uint64) *cluster {
	t.Helper()
	c := newCluster(t, seed)
	c.grow()
	return c
}

// grow starts nodes 1 to 3 and gives them votes.
func (c *cluster) grow() {
	c.t.Helper()
	c.start(1)
	for id := kafka.BrokerID(2); id <= 3; id++ {
		c.start(id)
		c.lead(func(g *Group) error { return g.Promote(c.t.Context(), id) })
	}
	for id := range c.nodes { // one that does not know of a voter would not vote for it
		c.knowsVoters(id, 3)
	}
}

// knowsVoters waits until a node knows of so many voters.
func (c *cluster) knowsVoters(id kafka.BrokerID, count int) {
	c.t.Helper()
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(leaderLook) { // of the bubble
		known := slices.DeleteFunc(c.nodes[id].group.Members(), func(m Member) bool { return !m.Voter })
		if len(known) == count {
			return
		}
	}
	c.t.Fatalf("node %d does not know of %d voters after 30 s", id, count)
}

// decide allocates producer ids through a node, so that no block comes twice, and says
// the first id.
func (c *cluster) decide(id kafka.BrokerID) kafka.ProducerID {
	c.t.Helper()
	ctx, stop := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer stop()
	b, err := c.nodes[id].group.AllocateProducerIDs(ctx)
	if err != nil {
		c.t.Fatalf("through node %d: %v", id, err)
	}
	if next := c.nodes[id].group.Image().NextProducerID; next < b.First+kafka.ProducerID(b.Count) {
		c.t.Errorf("node %d has an image with next id %d after it got %d", id, next, b.First)
	}
	return b.First
}

// alike wants every node that is up to have the same image.
func (c *cluster) alike() {
	c.t.Helper()
	var first *meta.Image
	for id, n := range c.nodes {
		if n.group == nil {
			continue
		}
		c.catchUp(id)
		i := n.group.Image()
		if first == nil {
			first = i
		}
		if i.Index != first.Index || i.NextProducerID != first.NextProducerID || i.ClusterID != first.ClusterID {
			c.t.Errorf("node %d: index %d, ids up to %d, cluster %s; another node: %d, %d, %s", id,
				i.Index, i.NextProducerID, i.ClusterID, first.Index, first.NextProducerID, first.ClusterID)
		}
	}
}

func TestThreeGroupsDecideTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 1)
		want := kafka.ProducerID(0)
		for _, through := range []kafka.BrokerID{1, 2, 3, 3, 2, 1} {
			if got := c.decide(through); got != want {
				t.Errorf("through node %d: block at %d, want %d", through, got, want)
			}
			want += producerIDBlock
		}
		c.alike()
		members := c.nodes[2].group.Members()
		if len(members) != 3 || !members[0].Voter || !members[1].Voter || !members[2].Voter {
			t.Errorf("members %v, want three voters", members)
		}
	})
}
