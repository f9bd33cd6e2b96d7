package cluster_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// groupCount is how many groups commit; each broker coordinates some of them.
const groupCount = 12

// sightings are what retention rules were shown of the logs of topic t.
type sightings struct {
	mu     sync.Mutex
	epochs map[string]int32 // by broker and partition, of the last that was complete; guarded by mu
	half   []string         // that lacked groups, once all had committed; guarded by mu
	all    bool             // all groups have committed; guarded by mu
}

// rule is the plugin of a broker that only looks.
func (s *sightings) rule(node int) plugin.Plugin {
	return storage.Plugin(plugin.Plugin{Name: "looks", Version: "1.0.0", Features: []string{storage.FeatureCommitted}},
		func(context.Context, plugin.Config) (storage.Retention, error) { return looks{s, node}, nil })
}

// looks is a retention that keeps everything.
type looks struct {
	*sightings
	node int
}

// Decide implements storage.Retention.
func (l looks) Decide(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range logs {
		whole := len(f.Committed) == groupCount
		for _, g := range f.Committed {
			whole = whole && g.Offset == committedOf(g.Group, f.Partition)
		}
		if whole {
			l.epochs[place(l.node, f.Partition)] = f.LeaderEpoch
		} else if l.all {
			l.half = append(l.half, fmt.Sprintf("broker %d, partition %d, epoch %d: %v", l.node, f.Partition, f.LeaderEpoch, f.Committed))
		}
	}
	return nil, nil
}

// place names a partition on a broker.
func place(node int, partition int32) string { return fmt.Sprintf("%d/%d", node, partition) }

// committedOf is what a group commits.
func committedOf(group string, partition int32) int64 { return 100*int64(partition) + int64(group[1]) }

// await waits until a rule was shown everything about a partition, in an epoch after
// another, and says in which.
func (s *sightings) await(t *testing.T, node int, partition, after int32) int32 {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(100 * time.Millisecond) {
		s.mu.Lock()
		epoch, seen := s.epochs[place(node, partition)]
		s.mu.Unlock()
		if seen && epoch > after {
			return epoch
		}
	}
	t.Fatalf("the rule of broker %d was not shown all groups of partition %d in an epoch after %d: %+v", node, partition, after, s)
	return 0
}

// forget waits out the questions that run, and forgets what was seen.
func (s *sightings) forget() {
	time.Sleep(10 * time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.epochs)
}

// at are the places that were seen.
func (s *sightings) at(partition int32) (nodes []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for node := 1; node <= 3; node++ {
		if _, ok := s.epochs[place(node, partition)]; ok {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// A retention rule is asked on the leader of a log and nowhere else, with its epoch, and
// is shown what the groups of all brokers have committed, or it is not asked: also when
// leaders and coordinators move, or can't be reached.
func TestRulesSeeTheGroupsOfAllBrokers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sightings{epochs: map[string]int32{}}
		q := quietCluster(t, 0)
		defer q.stop()
		q.static = config.Static{"log.retention.check.interval.ms": "1000", "offsets.topic.num.partitions": "12"}
		for n := 1; n <= 3; n++ {
			q.plugins[n] = broker.Plugins{Builtins: []plugin.Plugin{s.rule(n)},
				Catalogue: []pluginhost.Spec{{Name: "looks", Kind: plugin.Retention, Builtin: "looks", Enabled: true}}}
			q.start(n)
		}
		q.voters(1)
		r, err := q.nodes[1].Control().CreateTopics(t.Context(), []meta.NewTopic{{Name: "t", Configs: map[string]string{"mortise.retention.plugin": "looks"},
			Assignment: [][]kafka.BrokerID{{1, 2}, {2, 3}, {3, 1}}}}, false)
		if err != nil || r[0].Err != nil {
			t.Fatal(err, r)
		}
		q.commit(t)
		s.forget()
		s.mu.Lock()
		s.all = true
		s.mu.Unlock()
		for p := range int32(3) {
			s.await(t, int(p)+1, p, -1)
			if at := s.at(p); !slices.Equal(at, []int{int(p) + 1}) {
				t.Errorf("partition %d: rules of the brokers %v were asked, want the leader's", p, at)
			}
		}
		before := s.await(t, 3, 2, -1)
		if err := q.nodes[3].Close(t.Context()); err != nil {
			t.Error(err)
		}
		delete(q.nodes, 3)
		if epoch := s.await(t, 1, 2, before); epoch <= before {
			t.Errorf("epoch %d after %d", epoch, before)
		}
		q.cut(2, false) // broker 1 can't ask its groups, nor broker 2 those of 1
		time.Sleep(30 * time.Second)
		q.cut(2, true)
		s.forget()
		s.await(t, 1, 0, -1)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, half := range s.half[:min(len(s.half), 5)] {
			t.Errorf("a rule saw some of %d groups: %s", groupCount, half)
		}
	})
}

// commit writes a record to each partition of t, and has all groups commit.
func (q *quiet) commit(t *testing.T) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(q.host(1)+":9092"), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.Dialer(func(ctx context.Context, _, address string) (net.Conn, error) {
			return q.net.Host("10.0.0.9").Dial(ctx, address)
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for p := range int32(3) {
		if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Partition: p, Value: []byte("v")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for n := range groupCount {
		group := "g" + string(rune('a'+n))
		var offsets kadm.Offsets
		for p := range int32(3) {
			offsets.AddOffset("t", p, committedOf(group, p), -1)
		}
		if err := kadm.NewClient(c).CommitAllOffsets(t.Context(), group, offsets); err != nil {
			t.Fatal(err)
		}
	}
}
