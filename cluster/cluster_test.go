package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mortisemq/mortise/cluster"
	"github.com/mortisemq/mortise/cluster/consensus"
	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// A decision through any node reaches all of them, and they know each other as brokers.
func TestThreeNodesAreOneCluster(t *testing.T) {
	t.Parallel() // it mostly waits
	begin := time.Now()
	c := nodetest.StartMany(t, 3, nodetest.Options{})
	t.Logf("three nodes after %v", time.Since(begin))
	for n, through := range c.Nodes {
		name := fmt.Sprint("t", n)
		r, err := through.Control().CreateTopics(t.Context(), []meta.NewTopic{{Name: name, PartitionCount: 3, ReplicationFactor: 3}}, false)
		if err != nil || r[0].Err != nil {
			t.Fatalf("through node %d: %v %v", through.ID(), err, r)
		}
		if _, ok := through.Control().Image().Topic(name); !ok {
			t.Errorf("node %d has made %s and does not know it", through.ID(), name)
		}
		c.Await(func(i *meta.Image) error {
			if _, ok := i.Topic(name); !ok {
				return errors.New("no topic " + name)
			}
			return nil
		})
	}
	for _, n := range c.Nodes {
		q := n.Control().Quorum()
		if len(q.Voters) != 3 || q.Leader == kafka.NoBroker {
			t.Errorf("node %d says quorum %+v, want three voters and a leader", n.ID(), q)
		}
	}
}

// Nodes come back with what they knew, one after the other and all at once.
func TestNodesComeBack(t *testing.T) {
	t.Parallel() // it mostly waits
	c := nodetest.StartMany(t, 3, nodetest.Options{})
	if _, err := c.Nodes[0].Control().CreateTopics(t.Context(), []meta.NewTopic{{Name: "a", PartitionCount: 1, ReplicationFactor: 3}}, false); err != nil {
		t.Fatal(err)
	}
	has := func(i *meta.Image) error {
		if _, ok := i.Topic("a"); !ok {
			return errors.New("the topic is gone")
		}
		return nil
	}
	for _, n := range c.Nodes {
		begin := time.Now()
		n.Stop()
		stopped := time.Since(begin)
		n.Restart()
		n.Await(has)
		t.Logf("node %d stopped in %v and was back after %v", n.ID(), stopped, time.Since(begin))
	}
	for _, n := range c.Nodes {
		begin := time.Now()
		n.Stop()
		t.Logf("node %d stopped in %v", n.ID(), time.Since(begin))
	}
	begin := time.Now()
	var starting sync.WaitGroup
	for _, n := range c.Nodes { // none of them can be first: each waits for a second
		starting.Go(n.Restart)
	}
	starting.Wait()
	c.Await(has)
	t.Logf("all back after %v", time.Since(begin))
}

func TestForeignAndDuplicateNodesAreRefused(t *testing.T) {
	t.Parallel() // it mostly waits
	red := nodetest.StartMany(t, 2, nodetest.Options{ClusterID: "red", Keys: [][]byte{[]byte("0123456789abcdef")}})
	blue := nodetest.Start(t, nodetest.Options{NodeID: 3, ClusterID: "blue", Peer: "127.0.0.1:0"})
	key := []byte("0123456789abcdef")
	patience := nodetest.Patience
	start := func(id kafka.BrokerID, dir string, join ...string) error {
		ctx, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		n, err := cluster.Start(ctx, cluster.Options{DataDir: dir, Peer: cluster.PeerOptions{Listen: "127.0.0.1:0", Join: join, GossipKeys: [][]byte{key}},
			Broker: broker.Options{NodeID: id, Listeners: []broker.Listener{{Name: "PLAINTEXT", Address: "127.0.0.1:0"}}}})
		if err == nil {
			err = errors.Join(errors.New("it started"), n.Close(ctx))
		}
		return err
	}
	if err := start(2, t.TempDir(), red.Nodes[0].PeerAddr()); !errors.Is(err, consensus.ErrDuplicate) || !strings.Contains(err.Error(), red.Nodes[1].PeerAddr()) {
		t.Errorf("a second node 2: %v, want ErrDuplicate with the address of the first", err)
	}
	blue.Stop()
	if err := start(3, blue.DataDir(), red.Nodes[0].PeerAddr()); !errors.Is(err, consensus.ErrForeign) || !strings.Contains(err.Error(), "red") || !strings.Contains(err.Error(), "blue") {
		t.Errorf("a node of another cluster: %v, want ErrForeign with both clusters", err)
	}
	key, patience = []byte("fedcba9876543210"), 5*time.Second // it asks until the end: the key may be made known
	if err := start(4, t.TempDir(), red.Nodes[0].PeerAddr()); err == nil || !strings.Contains(err.Error(), "does not have the cluster's key") {
		t.Errorf("a node with another key: %v, want that it does not have the cluster's", err)
	}
}
