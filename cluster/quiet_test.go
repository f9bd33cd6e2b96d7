package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mortisemq/mortise/cluster"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/vnet"
)

// quiet is a cluster of whole nodes on a network in memory, whose time is fake.
type quiet struct {
	t     *testing.T
	net   *vnet.Mem
	nodes map[int]*cluster.Node

	plugins map[int]broker.Plugins // of nodes that have some
	static  config.Static
	keys    [][]byte // of nodes that start
	log     logged
}

// logged is what all nodes log.
type logged struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

// Write implements io.Writer.
func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// quietCluster starts nodes 1 to count, with keys if there are any.
func quietCluster(t *testing.T, count int, keys ...[]byte) *quiet {
	q := &quiet{t: t, net: vnet.NewMem(1), nodes: map[int]*cluster.Node{}, plugins: map[int]broker.Plugins{}, keys: keys}
	for n := 1; n <= count; n++ {
		q.start(n)
	}
	return q
}

// address is the peer address of a node.
func (q *quiet) address(n int) string { return fmt.Sprintf("10.0.0.%d:9390", n) }

func (q *quiet) host(n int) string { return fmt.Sprintf("10.0.0.%d", n) }

// start starts a node that joins node 1.
func (q *quiet) start(n int) {
	q.t.Helper()
	o := cluster.Options{DataDir: q.t.TempDir(), Peer: cluster.PeerOptions{Listen: q.address(n), GossipKeys: q.keys},
		Broker: broker.Options{NodeID: kafka.BrokerID(n), Net: q.net.Host(q.host(n)), Plugins: q.plugins[n], Static: q.static,
			Log:          slog.New(slog.NewTextHandler(&q.log, nil)).With("me", n),
			AdminAddress: q.host(n) + ":9644",
			Listeners:    []broker.Listener{{Name: "PLAINTEXT", Address: q.host(n) + ":9092"}}}}
	if n > 1 {
		o.Peer.Join = []string{q.address(1)}
	}
	node, err := cluster.Start(q.t.Context(), o)
	if err != nil {
		q.t.Fatalf("node %d: %v", n, err)
	}
	q.nodes[n] = node
}

// stop ends all nodes, and what their libraries still have under way.
func (q *quiet) stop() {
	for n, node := range q.nodes {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		if err := node.Close(ctx); err != nil {
			q.t.Errorf("close node %d: %v", n, err)
		}
		cancel()
	}
	time.Sleep(time.Minute)
}

// cut cuts a node off from all others, or ends that.
func (q *quiet) cut(n int, heal bool) {
	for other := range q.nodes {
		switch {
		case other == n:
		case heal:
			q.net.Heal(q.host(n), q.host(other))
		default:
			q.net.Cut(q.host(n), q.host(other))
		}
	}
}

// await waits until the image of a node pleases, and says how long that took.
func (q *quiet) await(n int, please func(*meta.Image) bool) time.Duration {
	q.t.Helper()
	begin := time.Now()
	for !please(q.nodes[n].Control().Image()) {
		if time.Since(begin) > time.Minute {
			q.t.Fatalf("node %d waited a minute", n)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begin)
}

// fenced are the brokers that an image has as fenced.
func fenced(i *meta.Image) (ids []kafka.BrokerID) {
	for b := range i.Brokers() {
		if b.Fenced {
			ids = append(ids, b.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// voters waits until three nodes vote, and says who leads.
func (q *quiet) voters(n int) (leader int) {
	q.t.Helper()
	q.await(n, func(*meta.Image) bool {
		quorum := q.nodes[n].Control().Quorum()
		leader = int(quorum.Leader)
		return len(quorum.Voters) == 3 && leader > 0
	})
	return leader
}
