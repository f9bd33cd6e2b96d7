package coordinator_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
)

// three runs a test with three brokers that have one partition of __consumer_offsets,
// led by the first.
func three(t *testing.T, static config.Static, test func(t *testing.T, brokers []*brokertest.Broker, cut func(a, b int, heal bool))) {
	all := config.Static{"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
	for name, value := range static {
		all[name] = value
	}
	synctest.Test(t, func(t *testing.T) {
		brokers, network := brokertest.StartMany(t, 3, brokertest.Options{Static: all})
		brokers[0].AssignTopic("t", nil, []kafka.BrokerID{1, 2, 3})
		name := []string{"broker1", "broker2", "broker3"}
		test(t, brokers, func(a, b int, heal bool) {
			if heal {
				network.Heal(name[a], name[b])
			} else {
				network.Cut(name[a], name[b])
			}
		})
	})
}

// old is a client of one broker that names topics and sends each request once.
func old(b *brokertest.Broker) *kgo.Broker {
	return b.Client(kgo.RequestRetries(0), kgo.MaxVersions(kversion.V2_7_0())).SeedBrokers()[0]
}

// fence has the cluster take a broker's leaderships away.
func fence(t *testing.T, b *brokertest.Broker) {
	t.Helper()
	known, _ := b.Control.Image().Broker(b.ID)
	if err := b.Control.FenceBroker(b.ID, known.Epoch); err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // every broker has taken its role
}

// commitTo sends an OffsetCommit to a broker and returns the error of its partition.
func commitTo(t *testing.T, b *brokertest.Broker, at int64) error {
	t.Helper()
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Group, q.Generation = "g", -1
	q.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: at, LeaderEpoch: -1}}}}
	resp, err := old(b).Request(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return kerr.ErrorForCode(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

// TestGroupsMoveWithTheLeadership: the broker that leads a partition of
// __consumer_offsets next knows what the one before had answered, and whoever waited
// there is sent on.
func TestGroupsMoveWithTheLeadership(t *testing.T) {
	three(t, nil, func(t *testing.T, brokers []*brokertest.Broker, _ func(int, int, bool)) {
		commit(t, brokers[0], "g", "t", 1, 5, "")
		topic, _ := brokers[0].Control.Image().Topic("__consumer_offsets")
		if p := topic.Partitions[0]; len(p.Replicas) != 3 || p.Leader != 1 {
			t.Fatalf("__consumer_offsets is %+v, want three replicas led by 1", p)
		}
		parked := make(chan error, 1)
		go func() { parked <- join(t, brokers[0]) }()
		synctest.Wait()
		fence(t, brokers[0])
		if err := <-parked; !errors.Is(err, kerr.NotCoordinator) {
			t.Errorf("who waited at the old coordinator got %v, want NOT_COORDINATOR", err)
		}
		if err := commitTo(t, brokers[0], 6); !errors.Is(err, kerr.NotCoordinator) {
			t.Errorf("a commit to the old coordinator: %v, want NOT_COORDINATOR", err)
		}
		if got, ok := offsets(t, brokers[1], "g").Lookup("t", 0); !ok || got.At != 5 {
			t.Errorf("the new coordinator has %+v, want offset 5", got)
		}
		groups, err := kadm.NewClient(brokers[1].Client()).ListGroups(t.Context())
		if err != nil || !slices.Equal(groups.Groups(), []string{"g"}) {
			t.Errorf("groups of the cluster: %v, %v; want g, once", groups.Groups(), err)
		}
	})
}

// join joins the group with a member that waits for another one to come back.
func join(t *testing.T, b *brokertest.Broker) error {
	q := kmsg.NewPtrJoinGroupRequest()
	q.Group, q.SessionTimeoutMillis, q.RebalanceTimeoutMillis, q.ProtocolType = "g", 30_000, 600_000, "consumer"
	q.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	c := old(b)
	for n := range 2 {
		instance := string(rune('a' + n))
		q.InstanceID = &instance
		resp, err := c.Request(context.Background(), q)
		if err != nil {
			return err
		}
		if code := resp.(*kmsg.JoinGroupResponse).ErrorCode; code != 0 {
			return kerr.ErrorForCode(code)
		}
	}
	return nil
}

// TestNobodyIsToldWhatMayBeLost: a coordinator whose followers are gone answers no
// commit, and no read behind it; when its broker is not the leader any more, what it
// wrote alone is as if it had not been.
func TestNobodyIsToldWhatMayBeLost(t *testing.T) {
	three(t, config.Static{"replica.lag.time.max.ms": "600000"}, func(t *testing.T, brokers []*brokertest.Broker, cut func(int, int, bool)) {
		commit(t, brokers[0], "g", "t", 1, 5, "")
		cut(0, 1, false)
		cut(0, 2, false)
		begin := time.Now()
		if err := commitTo(t, brokers[0], 6); !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Errorf("a commit that nobody copied: %v, want COORDINATOR_NOT_AVAILABLE", err)
		}
		if waited := time.Since(begin); waited < 4*time.Second || waited > 6*time.Second {
			t.Errorf("it was answered after %v, want about 5 s", waited)
		}
		q := kmsg.NewPtrOffsetFetchRequest()
		q.Group, q.Topics = "g", []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
		read := make(chan kmsg.Response, 1)
		go func() {
			resp, err := old(brokers[0]).Request(t.Context(), q)
			if err != nil {
				t.Errorf("read: %v", err)
			}
			read <- resp
		}()
		synctest.Wait()
		select {
		case resp := <-read:
			t.Errorf("a read was answered from what may be lost: %+v", resp)
		default:
		}
		fence(t, brokers[0])
		if code := (<-read).(*kmsg.OffsetFetchResponse).ErrorCode; kafka.ErrorCode(code) != kafka.ErrNotCoordinator {
			t.Errorf("the read ended with %s, want NOT_COORDINATOR", kafka.ErrorCode(code))
		}
		if got, ok := offsets(t, brokers[1], "g").Lookup("t", 0); !ok || got.At != 5 {
			t.Errorf("the new coordinator has %+v, want offset 5", got)
		}
	})
}
