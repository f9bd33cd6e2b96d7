package coordinator_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// heartbeat sends a ConsumerGroupHeartbeat.
func heartbeat(t *testing.T, b *brokertest.Broker, change func(q *kmsg.ConsumerGroupHeartbeatRequest)) *kmsg.ConsumerGroupHeartbeatResponse {
	t.Helper()
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Group, q.MemberID = "g", "m"
	change(q)
	_, ctx := admin(t, b)
	r, err := q.RequestWith(ctx, b.Client())
	if err != nil {
		t.Fatal(err)
	}
	if r.ErrorCode != 0 {
		t.Fatalf("%s: %v", kafka.ErrorCode(r.ErrorCode), r.ErrorMessage)
	}
	return r
}

// stay sends heartbeats of a member until its epoch is another one.
func stay(t *testing.T, b *brokertest.Broker, epoch int32) *kmsg.ConsumerGroupHeartbeatResponse {
	t.Helper()
	_, ctx := admin(t, b)
	for ctx.Err() == nil {
		r := heartbeat(t, b, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.MemberEpoch = epoch })
		if r.MemberEpoch != epoch {
			return r
		}
	}
	t.Fatalf("the member stays in epoch %d", epoch)
	return nil
}

// partitions is how many partitions an answer gives.
func partitions(r *kmsg.ConsumerGroupHeartbeatResponse) (n int) {
	if r.Assignment != nil {
		for _, t := range r.Assignment.Topics {
			n += len(t.Partitions)
		}
	}
	return n
}

// TestMembersSeeTopicsComeAndGrow joins with an expression: what it stands for is
// looked up in the background, topics that grow and that come are seen, and a new
// coordinator knows the member.
func TestMembersSeeTopicsComeAndGrow(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Loopback: true, Static: config.Static{"group.consumer.assignment.interval.ms": "0"}})
	b.CreateTopic("a1", 2, nil)
	commit(t, b, "other", "a1", 1, 1, "") // there is a coordinator
	regex := "a[0-9]"
	r := heartbeat(t, b, func(q *kmsg.ConsumerGroupHeartbeatRequest) {
		q.RebalanceTimeoutMillis, q.SubscribedTopicRegex, q.Topics = 10_000, &regex, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	})
	if r = stay(t, b, r.MemberEpoch); partitions(r) != 2 {
		t.Fatalf("the member has %d partitions, want both of the topic", partitions(r))
	}
	if _, err := b.Control.CreatePartitions(t.Context(), []meta.NewPartitions{{Topic: "a1", Count: 5}}, false); err != nil {
		t.Fatal(err)
	}
	if r = stay(t, b, r.MemberEpoch); partitions(r) != 5 {
		t.Fatalf("the member has %d partitions, want the 5 of the grown topic", partitions(r))
	}
	b.Restart()
	if again := heartbeat(t, b, func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.MemberEpoch = r.MemberEpoch }); again.MemberEpoch != r.MemberEpoch {
		t.Errorf("after a restart the member is in epoch %d, want %d", again.MemberEpoch, r.MemberEpoch)
	}
}

// TestTextsFitIntoRecords refuses ids that no record can hold: else the group could
// not be loaded.
func TestTextsFitIntoRecords(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Loopback: true})
	topic := b.CreateTopic("t", 1, nil)
	commit(t, b, "g", "t", 1, 1, "") // there is a coordinator
	long := strings.Repeat("x", 40_000)
	_, ctx := admin(t, b)
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.SessionTimeoutMillis, join.ProtocolType, join.InstanceID = "g", 10_000, "consumer", &long
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	j, err := join.RequestWith(ctx, b.Client())
	if err != nil || kafka.ErrorCode(j.ErrorCode) != kafka.ErrInvalidRequest {
		t.Errorf("a long instance id: %v %v, want INVALID_REQUEST", j, err)
	}
	offset := kmsg.NewPtrOffsetCommitRequest()
	offset.Group, offset.Generation = long, -1
	offset.Topics = []kmsg.OffsetCommitRequestTopic{{TopicID: [16]byte(topic.ID), Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 1}}}}
	o, err := b.Client().Broker(1).Request(ctx, offset)
	if err != nil || kafka.ErrorCode(o.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode) != kafka.ErrInvalidGroupID {
		t.Errorf("a long group id: %v %v, want INVALID_GROUP_ID", o, err)
	}
}
