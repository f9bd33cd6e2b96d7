package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

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
				other := 1 + (leader+1)%3
				victim, witness := other, 6-leader-other
				if leads {
					victim, witness = leader, other
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

// Nodes that stop at the same time do not wait for each other for long, whatever the
// order, nor for one that is cut off.
func TestNodesThatStopAtOnce(t *testing.T) {
	for _, cut := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			q := quietCluster(t, 3)
			q.voters(1)
			if r, err := q.nodes[1].Control().CreateTopics(t.Context(), []meta.NewTopic{{Name: "t", PartitionCount: 6, ReplicationFactor: 3}}, false); err != nil || r[0].Err != nil {
				t.Fatal(err, r)
			}
			time.Sleep(5 * time.Second)
			if cut > 0 {
				q.cut(cut, false)
				time.Sleep(3 * time.Second)
			}
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var stopping sync.WaitGroup
			for n, node := range q.nodes {
				stopping.Go(func() {
					err := node.Close(ctx)
					t.Logf("node %d (%d is cut off) stopped after %v: %v", n, cut, time.Since(begin), err)
				})
			}
			stopping.Wait()
			if d := time.Since(begin); d > 25*time.Second {
				t.Errorf("with node %d cut off it took %v", cut, d)
			}
			time.Sleep(time.Minute)
		})
	}
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

// Every node tells people the same of all nodes, and the leader when it heard of them.
func TestNodesTellOfEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quietCluster(t, 3)
		defer q.stop()
		leader := q.voters(1)
		time.Sleep(10 * time.Second)
		transport := &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return q.net.Host("10.0.0.9").Dial(ctx, address)
		}}
		defer transport.CloseIdleConnections()
		for n := range q.nodes {
			answer, err := (&http.Client{Transport: transport}).Get("http://" + q.host(n) + ":9644/v1/cluster")
			if err != nil {
				t.Fatal(err)
			}
			var r broker.ClusterReport
			err = json.NewDecoder(answer.Body).Decode(&r)
			answer.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if r.Gossip == nil || r.Gossip.Members != 3 || int(r.Raft.Leader) != leader || (r.Raft.State == "leader") != (n == leader) || r.Raft.LastContactMS < 0 {
				t.Errorf("node %d: gossip %+v, raft %+v", n, r.Gossip, r.Raft)
			}
			for _, node := range r.Nodes {
				age := node.HeartbeatAgeMS
				if !node.Voter || node.Gossip != "alive" || node.Admin != q.host(int(node.ID))+":9644" || node.Peer != q.address(int(node.ID)) ||
					n == leader && (age < 0 || age > 2000) || n != leader && age != -1 {
					t.Errorf("node %d says %+v", n, node)
				}
			}
			if len(r.Nodes) != 3 {
				t.Errorf("node %d knows %d nodes", n, len(r.Nodes))
			}
			answer, err = (&http.Client{Transport: transport}).Get("http://" + q.host(n) + ":9644/metrics")
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			leads := 0
			if n == leader {
				leads = 1
			}
			for _, line := range []string{fmt.Sprint("mortise_consensus_leader ", leads), "mortise_consensus_voters 3", fmt.Sprint("mortise_consensus_term ", r.Raft.Term),
				`mortise_membership_nodes{state="alive"} 2`, `mortise_membership_nodes{state="dead"} 0`, "mortise_membership_health_score 0",
				fmt.Sprint("mortise_cluster_active_controller ", leads), "mortise_cluster_offline_partitions 0"} {
				if !strings.Contains(string(text), line+"\n") {
					t.Errorf("node %d has no metric %q", n, line)
				}
			}
		}
	})
}
