package coordinator_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// ask sends a request to one broker, once. OffsetCommit still names topics.
func ask(t *testing.T, b *brokertest.Broker, q kmsg.Request) kmsg.Response {
	t.Helper()
	c := b.Client(kgo.RequestRetries(0), kgo.MaxVersions(kversion.V4_0_0()))
	defer c.Close()
	resp, err := c.SeedBrokers()[0].Request(t.Context(), q)
	if err != nil {
		t.Errorf("%s: %v", kmsg.NameForKey(q.Key()), err)
		return q.ResponseKind()
	}
	return resp
}

// classic is a member of group g, which asks whom the test names.
type classic struct {
	t          *testing.T
	id         string
	generation int32
}

// joins joins with the id that the member has, or that it is given on the way.
func (m *classic) joins(b *brokertest.Broker) error {
	m.t.Helper()
	q := kmsg.NewPtrJoinGroupRequest()
	q.Group, q.MemberID, q.SessionTimeoutMillis, q.RebalanceTimeoutMillis, q.ProtocolType = "g", m.id, 30_000, 600_000, "consumer"
	q.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	resp := ask(m.t, b, q).(*kmsg.JoinGroupResponse)
	err := kerr.ErrorForCode(resp.ErrorCode)
	switch {
	case errors.Is(err, kerr.MemberIDRequired):
		m.id = resp.MemberID
		return m.joins(b)
	case err == nil:
		m.id, m.generation = resp.MemberID, resp.Generation
	}
	return err
}

// syncs asks for the assignment. A leader gives all of these something.
func (m *classic) syncs(b *brokertest.Broker, all ...*classic) (string, error) {
	m.t.Helper()
	q := kmsg.NewPtrSyncGroupRequest()
	q.Group, q.MemberID, q.Generation = "g", m.id, m.generation
	q.ProtocolType, q.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	for _, other := range all {
		q.GroupAssignment = append(q.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: other.id, MemberAssignment: []byte("for " + other.id)})
	}
	resp := ask(m.t, b, q).(*kmsg.SyncGroupResponse)
	return string(resp.MemberAssignment), kerr.ErrorForCode(resp.ErrorCode)
}

func (m *classic) beats(b *brokertest.Broker) error {
	m.t.Helper()
	q := kmsg.NewPtrHeartbeatRequest()
	q.Group, q.MemberID, q.Generation = "g", m.id, m.generation
	return kerr.ErrorForCode(ask(m.t, b, q).(*kmsg.HeartbeatResponse).ErrorCode)
}

func (m *classic) commits(b *brokertest.Broker, at int64) error {
	m.t.Helper()
	return commits(m.t, b, "g", m.id, m.generation, at)
}

// commits commits an offset of a member of either protocol.
func commits(t *testing.T, b *brokertest.Broker, group, member string, generation int32, at int64) error {
	t.Helper()
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Group, q.MemberID, q.Generation = group, member, generation
	q.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: at, LeaderEpoch: -1}}}}
	return kerr.ErrorForCode(ask(t, b, q).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

// consumer sends a heartbeat of a member of group c, which is of the consumer protocol:
// in epoch 0 it joins.
func consumer(t *testing.T, b *brokertest.Broker, epoch int32) (int32, error) {
	t.Helper()
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Group, q.MemberID, q.MemberEpoch = "c", "m", epoch
	if epoch == 0 {
		q.RebalanceTimeoutMillis, q.SubscribedTopicNames, q.Topics = 10_000, []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	resp := ask(t, b, q).(*kmsg.ConsumerGroupHeartbeatResponse)
	return resp.MemberEpoch, kerr.ErrorForCode(resp.ErrorCode)
}

// coordinator asks a broker who coordinates a group.
func coordinator(t *testing.T, b *brokertest.Broker) (int32, error) {
	t.Helper()
	q := kmsg.NewPtrFindCoordinatorRequest()
	q.CoordinatorKeys = []string{"g"}
	found := ask(t, b, q).(*kmsg.FindCoordinatorResponse).Coordinators[0]
	return found.NodeID, kerr.ErrorForCode(found.ErrorCode)
}

// wants holds an error against what it should be.
func wants(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// stable makes a group g of one member with its assignment, at a broker that does not
// coordinate yet.
func stable(t *testing.T, b *brokertest.Broker) *classic {
	t.Helper()
	commit(t, b, "simple", "t", 1, 1, "") // there is a coordinator
	a := &classic{t: t}
	wants(t, "join", a.joins(b), nil)
	_, err := a.syncs(b, a)
	wants(t, "sync", err, nil)
	wants(t, "commit", a.commits(b, 5), nil)
	return a
}

// TestMembersGoOnAtTheNextCoordinator: members of both protocols keep their ids, their
// generation or epoch and their assignment when another broker takes over. One that was
// about to join is not known there, as in Kafka, and joins as a new one.
func TestMembersGoOnAtTheNextCoordinator(t *testing.T) {
	three(t, nil, func(t *testing.T, brokers []*brokertest.Broker, _ func(int, int, bool)) {
		first, second, third := brokers[0], brokers[1], brokers[2]
		a := stable(t, first)
		epoch, err := consumer(t, first, 0)
		wants(t, "join of the consumer protocol", err, nil)

		fence(t, first)
		wants(t, "heartbeat at the first coordinator", a.beats(first), kerr.NotCoordinator)
		wants(t, "heartbeat at the second", a.beats(second), nil)
		wants(t, "commit at the second", a.commits(second, 6), nil)
		if got, err := a.syncs(second); err != nil || got != "for "+a.id {
			t.Errorf("the second coordinator has the assignment %q, %v; want what the first had", got, err)
		}
		_, err = consumer(t, first, epoch)
		wants(t, "heartbeat of the consumer protocol at the first", err, kerr.NotCoordinator)
		again, err := consumer(t, second, epoch)
		if wants(t, "heartbeat of the consumer protocol at the second", err, nil); again != epoch {
			t.Errorf("the second coordinator has the member in epoch %d, want %d", again, epoch)
		}
		wants(t, "commit in the epoch", commits(t, second, "c", "m", epoch, 7), nil)

		b := &classic{t: t}
		parked := make(chan error, 1)
		go func() { parked <- b.joins(second) }()
		synctest.Wait()
		wants(t, "heartbeat while another one joins", a.beats(second), kerr.RebalanceInProgress)
		fence(t, second)
		wants(t, "join that waited at the second coordinator", <-parked, kerr.NotCoordinator)
		wants(t, "join at the third, under the id that the second gave", b.joins(third), kerr.UnknownMemberID)
		wants(t, "heartbeat of who was there before", a.beats(third), nil)

		b.id = ""
		go func() { parked <- b.joins(third) }()
		synctest.Wait()
		wants(t, "heartbeat while it joins again", a.beats(third), kerr.RebalanceInProgress)
		wants(t, "join of who was there before", a.joins(third), nil)
		wants(t, "join of the new one", <-parked, nil)
		if a.generation != 2 || b.generation != 2 {
			t.Errorf("they are in generations %d and %d, want 2", a.generation, b.generation)
		}
		_, err = a.syncs(third, a, b)
		wants(t, "sync of the leader", err, nil)
		if got, err := b.syncs(third); err != nil || got != "for "+b.id {
			t.Errorf("the new one is given %q, %v", got, err)
		}
	})
}

// TestClientsOfALoadingCoordinator: while groups are loaded heartbeats of classic members
// are good, so that they don't rebalance for it, and whoever wants more is told to try
// again. All brokers already say who coordinates.
func TestClientsOfALoadingCoordinator(t *testing.T) {
	three(t, nil, func(t *testing.T, brokers []*brokertest.Broker, _ func(int, int, bool)) {
		held, hold := make(chan struct{}), atomic.Bool{}
		disk := errorfs.New(brokers[1].FS(), func(op vfs.Op) error {
			if hold.Load() && op.Kind == vfs.OpRead && strings.Contains(op.Name, "__consumer_offsets-0/") {
				<-held
			}
			return nil
		})
		let := sync.OnceFunc(func() { close(held) })
		defer let()
		brokers[1].RestartOn(disk)
		a := stable(t, brokers[0])
		epoch, err := consumer(t, brokers[0], 0)
		wants(t, "join of the consumer protocol", err, nil)
		hold.Store(true)
		fence(t, brokers[0])
		loading := brokers[1]
		for _, b := range brokers {
			if node, err := coordinator(t, b); err != nil || node != 2 {
				t.Errorf("broker %d says that %d coordinates, %v; want 2", b.ID, node, err)
			}
		}
		wants(t, "heartbeat", a.beats(loading), nil)
		wants(t, "commit", a.commits(loading, 6), kerr.CoordinatorLoadInProgress)
		wants(t, "join", a.joins(loading), kerr.CoordinatorLoadInProgress)
		_, err = a.syncs(loading)
		wants(t, "sync", err, kerr.CoordinatorLoadInProgress)
		_, err = consumer(t, loading, epoch)
		wants(t, "heartbeat of the consumer protocol", err, kerr.CoordinatorLoadInProgress)
		let()
		synctest.Wait()
		wants(t, "commit when it is loaded", a.commits(loading, 6), nil)
		_, err = consumer(t, loading, epoch)
		wants(t, "heartbeat of the consumer protocol when it is loaded", err, nil)
	})
}

// TestNobodyCoordinatesWithoutALeader: clients are told that there is no coordinator now,
// and find it when there is one.
func TestNobodyCoordinatesWithoutALeader(t *testing.T) {
	three(t, nil, func(t *testing.T, brokers []*brokertest.Broker, _ func(int, int, bool)) {
		a := stable(t, brokers[0])
		for _, b := range brokers {
			fence(t, b)
		}
		for _, b := range brokers {
			_, err := coordinator(t, b)
			wants(t, "who coordinates", err, kerr.CoordinatorNotAvailable)
			wants(t, "heartbeat", a.beats(b), kerr.NotCoordinator)
		}
		last := brokers[2]
		known, _ := last.Control.Image().Broker(last.ID)
		if err := last.Control.UnfenceBroker(last.ID, known.Epoch); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if node, err := coordinator(t, brokers[0]); err != nil || node != 3 {
			t.Errorf("broker %d coordinates, %v; want 3", node, err)
		}
		wants(t, "heartbeat", a.beats(last), nil)
	})
}
