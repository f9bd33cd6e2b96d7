package clusterload_test

import (
	"context"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestGrow makes three nodes of one, five of three, and three of five, under a load that
// must not notice.
func TestGrow(t *testing.T) {
	w := newWorld(t, 5, 1, map[string]string{"default.replication.factor": "1", "offsets.topic.replication.factor": "1", "min.insync.replicas": "1"})
	w.createTopic("orders", partitions, 1)
	l := startLoad(w, "orders", partitions)
	l.acknowledged()

	w.restart(2)
	w.restart(3)
	w.voting(3)
	w.move("orders", 3, 1, 2, 3)
	l.acknowledged()
	t.Logf("three: at most %s without an acknowledgement", l.gaps())

	w.restart(4)
	w.restart(5)
	w.voting(5)
	w.move("orders", 3, 1, 2, 3, 4, 5)
	w.lead()
	l.acknowledged()
	t.Logf("five: at most %s without an acknowledgement", l.gaps())

	w.move("orders", 3, 1, 2, 3)
	for _, id := range []int32{4, 5} {
		w.stop(id)
		w.unregister(id)
	}
	w.voting(3)
	l.acknowledged()
	t.Logf("three again: at most %s without an acknowledgement", l.gaps())
	l.end()
	w.sameBytes()
}

// move gives each partition of a topic so many replicas, spread over the nodes, and waits
// until they are in sync.
func (w *world) move(topic string, factor int, nodes ...int32) {
	w.t.Helper()
	var q kadm.AlterPartitionAssignmentsReq
	for p := range partitions {
		var replicas []int32
		for i := range factor {
			replicas = append(replicas, nodes[(p+i)%len(nodes)])
		}
		q.Assign(topic, int32(p), replicas)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	r, err := w.admin.AlterPartitionAssignments(ctx, q)
	w.must(err)
	w.must(r.Error())
	w.until("moved", func(ctx context.Context) bool {
		left, err := w.admin.ListPartitionReassignments(ctx, nil)
		if err != nil || len(left) > 0 {
			return false
		}
		topics, err := w.admin.ListTopics(ctx, topic)
		if err != nil {
			return false
		}
		for _, p := range topics[topic].Partitions { // as this node knows them, which may be behind
			if !slices.Equal(p.Replicas, q[topic][p.Partition]) {
				return false
			}
		}
		return true
	})
	w.inSync()
}

// unregister takes a node that is gone out of the cluster.
func (w *world) unregister(id int32) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	q := kmsg.NewPtrUnregisterBrokerRequest()
	q.BrokerID = id
	r, err := q.RequestWith(ctx, w.client())
	w.must(err)
	w.must(kerr.ErrorForCode(r.ErrorCode))
}
