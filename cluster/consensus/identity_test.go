package consensus

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
)

// A founder that lost its disk and founds a cluster of the same id, because its settings
// say so, is none of the old one: its log would pass for the beginning of theirs, and it
// would vote twice. Joining, it is one of them again.
func TestFounderWithALostDiskIsAStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 19)
		c.id = "prod"
		c.grow()
		if first := c.decide(2); first != 0 {
			t.Fatalf("the first block is at %d", first)
		}
		c.stop(1)
		c.nodes[1].memory = NewMemory()
		if err := c.open(1); err != nil {
			t.Fatal(err)
		}
		anew := c.nodes[1].group
		if err := anew.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i := anew.Image(); i.ClusterID != "prod" || i.Identity() == c.nodes[2].group.Image().Identity() {
			t.Errorf("the new cluster is %s, the old one %s", i.Identity(), c.nodes[2].group.Image().Identity())
		}
		time.Sleep(10 * time.Second) // of the bubble: whoever would take it for a member had the time
		for id := kafka.BrokerID(2); id <= 3; id++ {
			_, err := c.nodes[id].group.knock(t.Context(), kafka.NoBroker, address(1), false)
			var refused *peer.RefusedError
			if !errors.As(err, &refused) || !isFinal(c.nodes[id].group.explain(err)) {
				t.Errorf("node %d at the founder's door: %v, want that it is of another cluster", id, err)
			}
		}
		if n := len(anew.Members()); n != 1 || !anew.Leads() {
			t.Errorf("the new cluster has %d members, leads: %v", n, anew.Leads())
		}
		c.stop(1)
		if got := c.decide(3); got != producerIDBlock {
			t.Errorf("the old cluster goes on at %d, want %d", got, producerIDBlock)
		}
		c.nodes[1].memory = NewMemory()
		port, err := peer.Listen(peer.Options{Net: c.network.Host(host(1)), Address: address(1), Node: 1})
		if err != nil {
			t.Fatal(err)
		}
		c.nodes[1].port = port
		if c.nodes[1].group, err = Open(t.Context(), Options{NodeID: 1, ClusterID: c.id, Memory: c.nodes[1].memory, Port: port,
			Join: func() []string { return []string{address(2)} }}); err != nil {
			t.Fatal(err)
		}
		c.alike()
	})
}

// A node whose build writes decisions in another form is told so when it wants to join,
// and does not try for ever.
func TestOtherBuildDoesNotJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 20)
		c.start(1)
		port, err := peer.Listen(peer.Options{Net: c.network.Host("new"), Address: "new:1", Node: 2, Format: 9})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		g, err := Open(ctx, Options{NodeID: 2, Port: port, Join: func() []string { return []string{address(1)} }})
		if err == nil {
			g.Close()
		}
		if !errors.Is(err, ErrOtherBuild) || !strings.Contains(err.Error(), "all nodes of a cluster need one build") || time.Since(begin) > time.Second {
			t.Errorf("%v after %v, want ErrOtherBuild at once", err, time.Since(begin))
		}
		if err := port.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A log that a newer build wrote is not called damaged.
func TestLogOfANewerBuild(t *testing.T) {
	dir := t.TempDir()
	g := open(t, dir)
	register(t, g)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := openDir(dir, newRaftLogger(g.options.Log))
	if err != nil {
		t.Fatal(err)
	}
	last, err := s.logs.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	b, err := metadata.EncodeCommand(&metadata.AllocateProducerIDs{Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	b[1] = 250 // a kind that there is not yet
	table := crc32.MakeTable(crc32.Castagnoli)
	binary.BigEndian.PutUint32(b[2:], crc32.Update(crc32.Update(0, table, b[:2]), table, b[6:]))
	if err := errors.Join(s.logs.StoreLog(&raft.Log{Index: last + 1, Term: 2, Type: raft.LogCommand, Data: b}), s.close()); err != nil {
		t.Fatal(err)
	}
	if g, err := Open(t.Context(), Options{Dir: dir, NodeID: 1}); err == nil {
		g.Close()
		t.Error("it was opened")
	} else if !errors.Is(err, ErrNewer) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), ".wal: entry") {
		t.Errorf("%v, want ErrNewer and the file", err)
	}
}
