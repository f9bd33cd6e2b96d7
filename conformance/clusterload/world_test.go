package clusterload_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/cluster/local"
)

var (
	strict  = flag.Bool("strict", false, "hold failover to its bounds")
	program = flag.String("mortise", "", "the program; empty: nothing runs but the proxy")
)

// patience is how long anything may take on a busy machine.
const patience = 2 * time.Minute

// lookEvery is how often the state of the cluster is asked for while waiting for it.
const lookEvery = 50 * time.Millisecond

// world is a cluster.
type world struct {
	t       testing.TB
	cluster *local.Cluster
	admin   *kadm.Client
	dir     string // what is kept when the test fails

	// Of a cluster that can be broken.
	wires   *wires   // nil: proxies
	proxies *proxies // nil: wires
	disks   []*disk  // nil: they can't be made full
	journal *journal
}

// newWorld makes a cluster of n nodes that runs until the test ends, of which some are
// started.
func newWorld(t testing.TB, n, started int, defaults map[string]string) *world {
	t.Helper()
	w := emptyWorld(t)
	ports, err := local.FreePorts(n)
	w.must(err)
	w.begin(local.Options{Ports: ports, Defaults: defaults}, started)
	return w
}

// emptyWorld is a world without nodes.
func emptyWorld(t testing.TB) *world {
	t.Helper()
	if *program == "" {
		t.Skip("-mortise names the program; make conformance does")
	}
	w := &world{t: t, dir: t.TempDir()}
	w.journal = newJournal(w.keep("faults.log"))
	return w
}

// begin makes the cluster and starts some of its nodes.
func (w *world) begin(o local.Options, started int) {
	w.t.Helper()
	o.Binary, o.Dir = *program, w.dir
	var err error
	w.cluster, err = local.New(o)
	w.must(err)
	w.t.Cleanup(func() {
		if err := w.cluster.Kill(); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			w.keepAll()
		}
	})
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for _, node := range w.cluster.Nodes()[:started] {
		w.must(node.Start(ctx))
	}
	w.admin = kadm.NewClient(w.client())
}

// keep makes a file that stays when the test fails.
func (w *world) keep(name string) *os.File {
	w.t.Helper()
	f, err := os.Create(filepath.Join(w.dir, name))
	w.must(err)
	w.t.Cleanup(func() { f.Close() })
	return f
}

// keepAll copies the logs, and what the nodes have on their disks, to where they stay.
func (w *world) keepAll() {
	dir, err := os.MkdirTemp("", "clusterload-")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(w.dir))
	}
	w.t.Log("what the nodes leave: ", dir, err)
}

// must ends the test with an error.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// node is the node of an id.
func (w *world) node(id int32) *local.Node { return w.cluster.Nodes()[id-1] }

// client makes a client of the cluster, which looks for new leaders at once as clients
// that must not wait do.
func (w *world) client(more ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(w.cluster.Brokers()...),
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
		kgo.DialTimeout(time.Second),
	}, more...)...)
	w.must(err)
	w.t.Cleanup(c.Close)
	return c
}

// createTopic makes a topic of partitions with so many replicas.
func (w *world) createTopic(name string, partitions int32, factor int16) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	r, err := w.admin.CreateTopic(ctx, partitions, factor, nil, name)
	w.must(err)
	w.must(r.Err)
}

// until waits for something and gives how long that took.
func (w *world) until(what string, is func(context.Context) bool) time.Duration {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for began := time.Now(); ; {
		if is(ctx) {
			return time.Since(began)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			w.t.Fatalf("after %s: not %s", patience, what)
		}
	}
}

// inSync waits until every replica of every partition is in sync.
func (w *world) inSync() time.Duration {
	w.t.Helper()
	return w.until("in sync", func(ctx context.Context) bool {
		topics, err := w.admin.ListTopicsWithInternal(ctx)
		if err != nil {
			return false
		}
		for _, t := range topics {
			for _, p := range t.Partitions {
				if p.Err != nil || p.Leader < 0 || len(p.ISR) < len(p.Replicas) {
					return false
				}
			}
		}
		return true
	})
}

// voting waits until so many nodes decide. Before that a cluster that has just grown
// can't miss every node.
func (w *world) voting(n int) {
	w.t.Helper()
	topic, partition := kmsg.NewDescribeQuorumRequestTopic(), kmsg.NewDescribeQuorumRequestTopicPartition()
	topic.Topic, topic.Partitions = "__cluster_metadata", append(topic.Partitions, partition)
	q := kmsg.NewPtrDescribeQuorumRequest()
	q.Topics = append(q.Topics, topic)
	client := w.client()
	defer client.Close()
	w.until(fmt.Sprint(n, " voters"), func(ctx context.Context) bool {
		r, err := q.RequestWith(ctx, client)
		if err != nil || r.ErrorCode != 0 || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
			return false
		}
		return len(r.Topics[0].Partitions[0].CurrentVoters) == n
	})
}

// leaders are who leads the partitions of a topic.
func (w *world) leaders(topic string) map[int32]int32 {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	topics, err := w.admin.ListTopics(ctx, topic)
	w.must(err)
	leaders := map[int32]int32{}
	for _, p := range topics[topic].Partitions {
		leaders[p.Partition] = p.Leader
	}
	return leaders
}

// lead lets the preferred replicas lead.
func (w *world) lead() {
	w.t.Helper()
	w.until("led by the preferred replicas", func(ctx context.Context) bool {
		_, err := w.admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, nil)
		if err != nil {
			return false
		}
		topics, err := w.admin.ListTopicsWithInternal(ctx)
		if err != nil {
			return false
		}
		for _, t := range topics {
			for _, p := range t.Partitions {
				if len(p.Replicas) == 0 || p.Leader != p.Replicas[0] {
					return false
				}
			}
		}
		return true
	})
}
