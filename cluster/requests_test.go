package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// through sends a request to one node and no other.
func through[R kmsg.Response](t *testing.T, n *nodetest.Node, q kmsg.Request) R {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), nodetest.Patience)
	defer stop()
	c := n.Client(kgo.RequestRetries(0))
	resp, err := c.SeedBrokers()[0].Request(ctx, q)
	if err != nil {
		t.Fatalf("%T through node %d: %v", q, n.ID(), err)
	}
	return resp.(R)
}

// TestRequestsThroughAnyNode: what the cluster decides can be asked of every node.
func TestRequestsThroughAnyNode(t *testing.T) {
	c := nodetest.StartMany(t, 3, nodetest.Options{})
	for _, n := range c.Nodes {
		quorum := kmsg.NewPtrDescribeQuorumRequest()
		quorum.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
		told := through[*kmsg.DescribeQuorumResponse](t, n, quorum)
		var voters []int32
		for _, v := range told.Topics[0].Partitions[0].CurrentVoters {
			voters = append(voters, v.ReplicaID)
			if v.ReplicaID == told.Topics[0].Partitions[0].LeaderID && (v.LogEndOffset <= 0 || v.LastCaughtUpTimestamp < 0) {
				t.Errorf("node %d does not know how far the leader is: %+v", n.ID(), v)
			}
		}
		if slices.Sort(voters); !slices.Equal(voters, []int32{1, 2, 3}) || len(told.Nodes) != 3 {
			t.Errorf("node %d: voters %v at %+v, want three", n.ID(), voters, told.Nodes)
		}
	}
	ids := map[int64]bool{}
	for _, n := range c.Nodes {
		init := kmsg.NewPtrInitProducerIDRequest()
		init.TransactionTimeoutMillis = -1
		r := through[*kmsg.InitProducerIDResponse](t, n, init)
		if r.ErrorCode != 0 || ids[r.ProducerID] {
			t.Errorf("node %d gives producer id %d, error %s; %v were given before", n.ID(), r.ProducerID, kafka.ErrorCode(r.ErrorCode), ids)
		}
		ids[r.ProducerID] = true
	}
	make3 := kmsg.NewPtrCreateTopicsRequest()
	make3.TimeoutMillis = int32(nodetest.Patience.Milliseconds())
	make3.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: -1, ReplicationFactor: -1, ReplicaAssignment: []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: []int32{1, 2}}}}}
	if r := through[*kmsg.CreateTopicsResponse](t, c.Nodes[2], make3); r.Topics[0].ErrorCode != 0 {
		t.Fatalf("create: %+v", r.Topics[0])
	}
	move := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	move.TimeoutMillis = int32(nodetest.Patience.Milliseconds())
	move.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "t", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: []int32{3, 2}}}}}
	if r := through[*kmsg.AlterPartitionAssignmentsResponse](t, c.Nodes[1], move); r.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("move: %+v", r.Topics[0])
	}
	c.Await(func(i *meta.Image) error {
		topic, ok := i.Topic("t")
		if !ok || topic.Partitions[0].Reassigning() || !slices.Equal(topic.Partitions[0].Replicas, []kafka.BrokerID{3, 2}) {
			return fmt.Errorf("the move is at %+v", topic)
		}
		return nil
	})
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.TimeoutMillis = int32(nodetest.Patience.Milliseconds())
	through[*kmsg.ElectLeadersResponse](t, c.Nodes[0], elect) // it may lead already
	c.Await(func(i *meta.Image) error {
		if topic, _ := i.Topic("t"); topic.Partitions[0].Leader != 3 {
			return fmt.Errorf("led by %d", topic.Partitions[0].Leader)
		}
		return nil
	})
}

// TestGroupsOfACluster: __consumer_offsets has three replicas, and a group goes on with
// its offsets when its coordinator stops.
func TestGroupsOfACluster(t *testing.T) {
	c := nodetest.StartMany(t, 3, nodetest.Options{Static: config.Static{"offsets.topic.num.partitions": "3"}})
	ctx, stop := context.WithTimeout(t.Context(), nodetest.Patience)
	defer stop()
	if r, err := c.Nodes[0].Control().CreateTopics(ctx, []meta.NewTopic{{Name: "t", PartitionCount: 1, ReplicationFactor: 3}}, false); err != nil || r[0].Err != nil {
		t.Fatal(err, r)
	}
	a := kadm.NewClient(c.Client())
	commit := func(at int64) {
		t.Helper()
		var all kadm.Offsets
		all.Add(kadm.Offset{Topic: "t", At: at, LeaderEpoch: -1})
		for {
			done, err := a.CommitOffsets(ctx, "g", all)
			if err == nil {
				err = done.Error()
			}
			if err == nil {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("commit of %d: %v", at, err)
			}
		}
	}
	commit(5)
	topic, _ := c.Nodes[0].Control().Image().Topic("__consumer_offsets")
	if p := topic.Partitions[0]; len(p.Replicas) != 3 {
		t.Fatalf("__consumer_offsets has replicas %v, want three", p.Replicas)
	}
	found := a.FindGroupCoordinators(ctx, "g")["g"]
	if found.Err != nil {
		t.Fatal(found.Err)
	}
	n := slices.IndexFunc(c.Nodes, func(n *nodetest.Node) bool { return int32(n.ID()) == found.NodeID })
	begin := time.Now()
	c.Nodes[n].Stop()
	t.Logf("node %d stopped in %v", found.NodeID, time.Since(begin))
	a = kadm.NewClient(c.Client()) // the other one holds on to a coordinator that it can't reach
	begin = time.Now()
	for {
		got, err := a.FetchOffsets(ctx, "g")
		o, ok := got.Lookup("t", 0)
		if err == nil && ok && o.Err == nil && o.At == 5 {
			break
		}
		if ctx.Err() != nil || err == nil && (!ok || o.Err == nil) {
			t.Fatalf("after node %d stopped the group has %+v, %v; want offset 5", found.NodeID, got, errors.Join(err, o.Err))
		}
	}
	t.Logf("the group has its offset after %v", time.Since(begin))
	commit(6)
}
