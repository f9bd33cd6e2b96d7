package coordinator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
)

// patience bounds what a test waits for; pause is between two tries of a client, for
// example while groups are loaded.
const (
	patience = time.Minute
	pause    = 20 * time.Millisecond
)

// admin is a client of a broker whose time is bounded.
func admin(t *testing.T, b *brokertest.Broker) (*kadm.Client, context.Context) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	return kadm.NewClient(b.Client(kgo.RequestRetries(int(patience/pause)), kgo.RetryBackoffFn(func(int) time.Duration { return pause }))), ctx
}

// commit commits offset at of every partition of a topic, with a text.
func commit(t *testing.T, b *brokertest.Broker, group, topic string, partitions int32, at int64, text string) {
	t.Helper()
	a, ctx := admin(t, b)
	var all kadm.Offsets
	for p := range partitions {
		all.Add(kadm.Offset{Topic: topic, Partition: p, At: at, LeaderEpoch: -1, Metadata: text})
	}
	done, err := a.CommitOffsets(ctx, group, all)
	if err == nil {
		err = done.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// offsets are what a group has committed.
func offsets(t *testing.T, b *brokertest.Broker, group string) kadm.OffsetResponses {
	t.Helper()
	a, ctx := admin(t, b)
	got, err := a.FetchOffsets(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestDeletedTopicTakesItsOffsetsAlong: else a topic made anew under the name would
// be read from somewhere in its middle.
func TestDeletedTopicTakesItsOffsetsAlong(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Loopback: true})
	gone := b.CreateTopic("gone", 2, nil)
	b.CreateTopic("stays", 1, nil)
	commit(t, b, "g", "gone", 2, 5, "")
	commit(t, b, "g", "stays", 1, 7, "")
	if errs, err := b.Control.DeleteTopics(t.Context(), []kafka.TopicID{gone.ID}); err != nil || errs[0] != nil {
		t.Fatal(err, errs)
	}
	b.Settle()
	for range 2 {
		got := offsets(t, b, "g")
		if o, ok := got.Lookup("stays", 0); len(got) != 1 || !ok || o.At != 7 {
			t.Errorf("the group has %v, want the offset of the topic that stays", got)
		}
		b.Restart() // and not come back from the log
	}
}

// TestLoadsInPieces loads more than one read, and single batches that are large
// (GRP-03).
func TestLoadsInPieces(t *testing.T) {
	for _, codec := range []string{"0", "4"} {
		b := brokertest.Start(t, brokertest.Options{Loopback: true, Static: config.Static{"offsets.topic.compression.codec": codec}})
		b.CreateTopic("t", 200, nil)
		const rounds = 10 // of 800 kB
		for i := range rounds {
			commit(t, b, "g", "t", 200, int64(i), strings.Repeat("m", 4000))
		}
		b.Restart()
		got := offsets(t, b, "g")["t"]
		if len(got) != 200 {
			t.Fatalf("%d partitions have an offset, want 200", len(got))
		}
		for p, o := range got {
			if o.At != rounds-1 || len(o.Metadata) != 4000 {
				t.Fatalf("partition %d has offset %d with %d bytes, want %d with 4000", p, o.At, len(o.Metadata), rounds-1)
			}
		}
	}
}

// TestStopAnswersWhoWaits parks a JoinGroup and stops the broker: the member is told
// to look for another coordinator, and the stop does not wait for the rebalance.
func TestStopAnswersWhoWaits(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Loopback: true, Static: config.Static{"group.initial.rebalance.delay.ms": "600000"}})
	b.CreateTopic("t", 1, nil)
	commit(t, b, "g", "t", 1, 1, "") // there is a coordinator
	q := kmsg.NewPtrJoinGroupRequest()
	q.Group, q.SessionTimeoutMillis, q.RebalanceTimeoutMillis, q.ProtocolType = "g", 30_000, 600_000, "consumer"
	q.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	instance := "one" // is not sent away for a member id
	q.InstanceID = &instance
	answered := make(chan int16, 1)
	c := b.Client(kgo.RequestRetries(0))
	go func() {
		resp, err := c.Broker(1).Request(context.Background(), q)
		if err != nil {
			t.Errorf("the parked request ended with %v", err)
			answered <- -1
			return
		}
		answered <- resp.(*kmsg.JoinGroupResponse).ErrorCode
	}()
	awaitMember(t, b)
	b.Stop()
	if got := kafka.ErrorCode(<-answered); got != kafka.ErrNotCoordinator {
		t.Errorf("the parked request was answered %s, want NOT_COORDINATOR", got)
	}
}

// awaitMember waits until the group has its member.
func awaitMember(t *testing.T, b *brokertest.Broker) {
	t.Helper()
	a, ctx := admin(t, b)
	for ctx.Err() == nil {
		got, err := a.DescribeGroups(ctx, "g")
		if err == nil && len(got["g"].Members) == 1 {
			return
		}
	}
	t.Fatal("the member did not come")
}
