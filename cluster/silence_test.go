package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/cluster"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/core/vnet"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// quiet is a cluster of whole nodes on a network in memory, whose time is fake.
type quiet struct {
	t     *testing.T
	net   *vnet.Mem
	nodes map[int]*cluster.Node

	plugins map[int]broker.Plugins // of nodes that have some
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

// quietCluster starts nodes 1 to count.
func quietCluster(t *testing.T, count int) *quiet {
	q := &quiet{t: t, net: vnet.NewMem(1), nodes: map[int]*cluster.Node{}, plugins: map[int]broker.Plugins{}}
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
	o := cluster.Options{DataDir: q.t.TempDir(), Peer: cluster.PeerOptions{Listen: q.address(n)},
		Broker: broker.Options{NodeID: kafka.BrokerID(n), Net: q.net.Host(q.host(n)), Plugins: q.plugins[n],
			Log:       slog.New(slog.NewTextHandler(&q.log, nil)).With("me", n),
			Listeners: []broker.Listener{{Name: "PLAINTEXT", Address: q.host(n) + ":9092"}}}}
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

// A node that falls silent is fenced within three seconds, and comes back when it is
// heard of again. If it led the control plane, an election comes before.
func TestSilentNodeIsFencedSoon(t *testing.T) {
	for _, leads := range []bool{false, true} {
		limit := 3 * time.Second
		if leads {
			limit = 5 * time.Second
		}
		t.Run(fmt.Sprintf("leader=%v", leads), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := quietCluster(t, 3)
				defer q.stop()
				leader := q.voters(2)
				victim, witness := 3, 2
				if (victim == leader) != leads {
					victim, witness = 1, 3
				}
				if (victim == leader) != leads {
					t.Fatalf("node %d leads", leader)
				}
				time.Sleep(5 * time.Second)
				q.cut(victim, false)
				took := q.await(witness, func(i *meta.Image) bool { return slices.Equal(fenced(i), []kafka.BrokerID{kafka.BrokerID(victim)}) })
				t.Logf("fenced after %v", took)
				if took > limit {
					t.Errorf("fenced after %v, want %v at most", took, limit)
				}
				time.Sleep(2 * time.Minute)
				q.cut(victim, true)
				took = q.await(witness, func(i *meta.Image) bool { return len(fenced(i)) == 0 })
				t.Logf("back after %v", took)
				if took > 30*time.Second {
					t.Errorf("back after %v", took)
				}
			})
		})
	}
}

// A node that stops in order is let go at once, and the others are told.
func TestNodeThatStopsIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quietCluster(t, 3)
		defer q.stop()
		q.voters(1)
		r, err := q.nodes[1].Control().CreateTopics(t.Context(), []meta.NewTopic{{Name: "t", Assignment: [][]kafka.BrokerID{{3, 1}, {1, 3}}}}, false)
		if err != nil || r[0].Err != nil {
			t.Fatal(err, r)
		}
		begin := time.Now()
		if err := q.nodes[3].Close(t.Context()); err != nil {
			t.Error(err)
		}
		delete(q.nodes, 3)
		t.Logf("stopped after %v", time.Since(begin))
		image := q.nodes[1].Control().Image()
		topic, _ := image.Topic("t")
		if got := fenced(image); !slices.Equal(got, []kafka.BrokerID{3}) || topic.Partitions[0].Leader != 1 {
			t.Errorf("fenced %v, leader %d", got, topic.Partitions[0].Leader)
		}
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

// A broker that somebody unregistered while it runs registers again, and its node stays.
func TestUnregisteredBrokerComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quietCluster(t, 3)
		defer q.stop()
		q.voters(1)
		before, _ := q.nodes[1].Control().Image().Broker(3)
		if err := q.nodes[1].Control().UnregisterBroker(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		took := q.await(1, func(i *meta.Image) bool { b, ok := i.Broker(3); return ok && b.Epoch > before.Epoch })
		t.Logf("back after %v", took)
		time.Sleep(time.Minute)
		if b, ok := q.nodes[1].Control().Image().Broker(3); !ok || !b.Active() {
			t.Errorf("broker 3 is %+v", b)
		}
		q.voters(3)
	})
}

// A node that has other plugins than the others is noticed, and those that have the same
// are not.
func TestOtherPluginsAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quietCluster(t, 2)
		defer q.stop()
		q.plugins[3] = broker.Plugins{
			Builtins: []plugin.Plugin{storage.Plugin(plugin.Plugin{Name: "never", Version: "1.0.0"},
				func(context.Context, plugin.Config) (storage.Retention, error) { return never{}, nil })},
			Catalogue: []pluginhost.Spec{{Name: "mine", Kind: plugin.Retention, Builtin: "never", Enabled: true}},
		}
		q.start(3)
		time.Sleep(3 * time.Minute)
		lines := 0
		for line := range strings.Lines(q.log.String()) {
			if !strings.Contains(line, "other plugins") {
				continue
			}
			if lines++; !strings.Contains(line, "me=3") && !strings.Contains(line, "node=3") {
				t.Error(line)
			}
		}
		if lines != 4 { // 1 and 2 of 3, and 3 of both
			t.Errorf("%d lines, want 4:\n%s", lines, q.log.String())
		}
	})
}

// never lets no segment go.
type never struct{}

func (never) Decide(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	return nil, nil
}
