package consensus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// A node that comes late gets a snapshot, because the entries before it are gone.
func TestJoinerGetsASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 6)
		c.start(1)
		for range 2 * trailingKept {
			c.decide(1)
		}
		if err := c.nodes[1].group.raft.Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
		c.start(2)
		if found, err := c.nodes[2].memory.snapshots.List(); err != nil || len(found) == 0 {
			t.Errorf("node 2 has no snapshot (%v): the test shows nothing", err)
		}
		if members := c.nodes[1].group.Members(); len(members) != 2 || members[1].Voter {
			t.Errorf("members %v, want node 2 without a vote", members)
		}
		c.decide(2)
		c.stop(2)
		c.start(2)
		c.alike()
	})
}

// A lone node grows to three and back, and is fast again; its neighbours come back too.
func TestGrowAndShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { growAndShrink(t, "") })
}

// The same with what is really on the disk.
func TestGrowAndShrinkOnDisk(t *testing.T) {
	root := t.TempDir() // outlives the nodes
	synctest.Test(t, func(t *testing.T) { growAndShrink(t, root) })
}

func growAndShrink(t *testing.T, root string) {
	c := newCluster(t, 7)
	c.root = root
	c.grow()
	c.decide(3)
	for id := range c.nodes { // all at once
		c.stop(id)
	}
	for id := range c.nodes {
		if err := c.open(id); err != nil {
			t.Fatal(err)
		}
	}
	c.leader()
	c.decide(2)
	for id := kafka.BrokerID(2); id <= 3; id++ {
		c.lead(func(g *Group) error { return g.Demote(t.Context(), id) })
	}
	c.decide(3)
	c.lead(func(g *Group) error { return g.Remove(t.Context(), 3) })
	c.stop(3)
	c.stop(2)
	c.decide(1)
	c.stop(1)
	want := c.nodes[1]
	begin := time.Now()
	if err := c.open(1); err != nil {
		t.Fatal(err)
	}
	if err := want.group.Ready(t.Context()); err != nil || time.Since(begin) >= heartbeatTimeout {
		t.Errorf("alone again after %v, want no wait for a timeout: %v", time.Since(begin), err)
	}
	c.decide(1)
	c.start(2)
	c.start(3) // it was removed, and asks again
	c.alike()
	if members := want.group.Members(); len(members) != 3 {
		t.Errorf("members %v, want three", members)
	}
}

// A node that was unregistered may be back, and registered, by the time it is to be removed.
func TestRegisteredNodesAreNotRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		c.grow()
		if _, err := c.nodes[3].group.RegisterBroker(t.Context(), meta.Registration{ID: 3}); err != nil {
			t.Fatal(err)
		}
		c.decide(1)
		c.lead(func(g *Group) error {
			err := g.Remove(t.Context(), 3)
			if errors.Is(err, kafka.ErrInvalidRequest.Err("")) {
				return nil
			}
			if err == nil {
				t.Error("a registered broker was removed")
			}
			return err
		})
		c.lead(func(g *Group) error { return g.UnregisterBroker(t.Context(), 3) })
		c.lead(func(g *Group) error { return g.Demote(t.Context(), 3) })
		c.lead(func(g *Group) error { return g.Remove(t.Context(), 3) })
	})
}

// A node may be removed while it reads its logs, before it is a broker: its registration is
// decided, and it hears nothing of that until it is let in again.
func TestNodeRemovedBeforeItRegisters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 18)
		c.grow()
		c.start(4)
		registers := func() {
			t.Helper()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			g := c.nodes[4].group
			epoch, err := g.RegisterBroker(ctx, meta.Registration{ID: 4, Peer: address(4)})
			if err != nil {
				t.Fatal(err)
			}
			if b, known := g.Image().Broker(4); !known || b.Epoch != epoch {
				t.Errorf("registered as %d, and the image has %+v", epoch, b)
			}
			c.lead(func(g *Group) error { return g.UnregisterBroker(t.Context(), 4) })
		}
		c.lead(func(g *Group) error { return g.Remove(t.Context(), 4) })
		registers() // it still takes the leader for its own
		c.lead(func(g *Group) error { return g.Remove(t.Context(), 4) })
		time.Sleep(10 * heartbeatTimeout) // of the bubble
		registers()                       // it knows of no leader
		c.alike()
	})
}

// Nor does a node wait for good that began the cluster, was removed while it was down, and
// was never told whom to join: it knows the others' addresses.
func TestRemovedFounderAsksToBeLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 19)
		c.grow()
		c.stop(1)
		c.lead(func(g *Group) error { return g.Demote(t.Context(), 1) })
		c.lead(func(g *Group) error { return g.Remove(t.Context(), 1) })
		for id := kafka.BrokerID(2); id <= 3; id++ { // who removed it tries to reach it still
			c.stop(id)
			c.start(id)
		}
		c.start(1)
		c.alike()
	})
}

// A node that is killed comes back with what is on its disk at that moment, also when
// it led and the others had decided otherwise meanwhile.
func TestKilledNodesComeBack(t *testing.T) {
	root := t.TempDir() // outlives the nodes
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 15)
		c.root = root
		c.grow()
		for round := range 4 {
			victim := c.leader()
			c.decide(1 + victim%3)
			if round%2 == 1 { // it writes something that nobody else gets
				c.isolate(victim)
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				if _, err := c.nodes[victim].group.AllocateProducerIDs(ctx); err == nil {
					t.Error("a leader without a majority has decided")
				}
				stop()
			}
			n := c.nodes[victim]
			killed := filepath.Join(root, fmt.Sprint("killed-", round))
			if err := os.CopyFS(killed, os.DirFS(n.dir)); err != nil {
				t.Fatal(err)
			}
			c.stop(victim)
			c.heal(victim)
			c.decide(c.leader(victim))
			n.dir = killed
			c.start(victim)
			c.decide(victim)
			c.alike()
		}
	})
}

func TestLeaderThatLosesItsVoteHandsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 8)
		old := c.leader()
		if err := c.nodes[2].group.RemoveVoter(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		now := c.leader(old)
		c.decide(old)
		for _, m := range c.nodes[now].group.Members() {
			if m.Voter != (m.ID != old) {
				t.Errorf("member %+v after node %d lost its vote", m, old)
			}
		}
		if err := c.nodes[2].group.AddVoter(t.Context(), old); err != nil {
			t.Error(err)
		}
		for want, err := range map[kafka.ErrorCode]error{
			kafka.ErrDuplicateVoter: c.nodes[2].group.AddVoter(t.Context(), old),
			kafka.ErrInvalidRequest: c.nodes[2].group.AddVoter(t.Context(), 9),
			kafka.ErrVoterNotFound:  c.nodes[2].group.RemoveVoter(t.Context(), 9),
		} {
			if !errors.Is(err, want.Err("")) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	})
}

// A voter that comes back with an empty disk does not know whom it voted for, nor what
// it helped to decide: it comes back without a vote.
func TestVoterWithALostDiskLosesItsVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 9)
		c.decide(1)
		c.stop(3)
		c.nodes[3].memory = NewMemory()
		c.start(3)
		for _, m := range c.nodes[1].group.Members() {
			if m.Voter != (m.ID != 3) {
				t.Errorf("member %+v after node 3 lost its disk", m)
			}
		}
		c.alike()
	})
}

func TestNodeMayMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 10)
		c.stop(3)
		time.Sleep(time.Second) // of the bubble: until raft has noticed, it reads the old address without its lock (v1.8.0, pipelineSend)
		n := c.nodes[3]
		var err error
		if n.port, err = peer.Listen(peer.Options{Net: c.network.Host("elsewhere"), Address: "elsewhere:1", Node: 3}); err != nil {
			t.Fatal(err)
		}
		if n.group, err = Open(t.Context(), Options{NodeID: 3, Memory: n.memory, Port: n.port}); err != nil {
			t.Fatal(err)
		}
		c.catchUp(3)
		c.stop(2)
		c.decide(3) // a majority needs both
		c.decide(1)
	})
}

func TestStrangersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 11)
		join := func() []string { return []string{address(2)} }
		open := func(id kafka.BrokerID, cluster string, memory *Memory) error {
			port, err := peer.Listen(peer.Options{Net: c.network.Host("new"), Address: "new:1", Node: id})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			g, err := Open(ctx, Options{NodeID: id, ClusterID: cluster, Memory: memory, Port: port, Join: join})
			if err == nil {
				if err = g.Current(ctx); err == nil {
					t.Errorf("node %d of cluster %q was let in", id, cluster)
				}
				g.Close()
			}
			return errors.Join(err, port.Close())
		}
		if err := open(3, "", nil); !errors.Is(err, ErrDuplicate) || !strings.Contains(err.Error(), address(3)) {
			t.Errorf("a second node 3: %v, want ErrDuplicate with the address of the first", err)
		}
		if err := open(4, "mine", nil); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "mine") {
			t.Errorf("a node for another cluster: %v, want ErrForeign", err)
		}
		other := NewMemory() // of a node that once began a cluster of its own
		g, err := Open(t.Context(), Options{NodeID: 4, ClusterID: "mine", Memory: other})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.Ready(t.Context()), g.Close()); err != nil {
			t.Fatal(err)
		}
		if err := open(4, "", other); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "mine") || !strings.Contains(err.Error(), c.nodes[1].group.Image().ClusterID) {
			t.Errorf("a node of another cluster: %v, want ErrForeign with both clusters", err)
		}
		if members := c.nodes[1].group.Members(); len(members) != 3 {
			t.Errorf("members %v, want the three", members)
		}
	})
}

func TestNobodyToJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 12)
		begin := time.Now()
		if err := c.open(2); err == nil || !strings.Contains(err.Error(), "no cluster to join") {
			t.Errorf("%v, want that there is no cluster to join", err)
		}
		if took := time.Since(begin); took < 29*time.Second {
			t.Errorf("gave up after %v, want the time that it was given", took)
		}
	})
}

// The leader's view of the others comes from any node.
func TestQuorumFromAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 13)
		c.nodes[4] = nil
		delete(c.nodes, 4)
		c.start(4)
		c.decide(4)
		time.Sleep(heartbeatTimeout) // of the bubble: heartbeats tell the ends
		leader := c.leader()
		end := int64(c.nodes[leader].group.raft.LastIndex())
		for id, n := range c.nodes {
			q := n.group.Quorum()
			if q.Leader != leader || len(q.Voters) != 3 || len(q.Observers) != 1 || q.Observers[0].ID != 4 {
				t.Errorf("node %d: %+v, want leader %d, three voters and observer 4", id, q, leader)
			}
			for _, r := range append(q.Voters, q.Observers...) {
				if r.LogEndOffset != end || time.Since(r.LastFetch) > heartbeatTimeout || time.Since(r.LastCaughtUp) > heartbeatTimeout || r.Host != host(r.ID) || r.Port != 9390 {
					t.Errorf("node %d says %+v, want end %d, just now, at %s", id, r, end, address(r.ID))
				}
			}
		}
		if n := c.nodes[leader].group.raft.State(); n != raft.Leader {
			t.Errorf("the leader is %v", n)
		}
	})
}
