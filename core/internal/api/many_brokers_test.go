package api_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/api"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// threeBrokers is a rig whose cluster has the brokers 1, 2 and 3, and a topic with a
// partition for each list of replicas.
func threeBrokers(t *testing.T, replicas ...[]kafka.BrokerID) *adminRig {
	t.Helper()
	rig := newAdminRig(t, adminOptions{})
	for id := kafka.BrokerID(2); id <= 3; id++ {
		if _, err := rig.control.RegisterBroker(t.Context(), meta.Registration{ID: id, CleanShutdown: true,
			Endpoints: []meta.Endpoint{{Listener: listener, Host: fmt.Sprintf("%d.test", id), Port: 9092}}}); err != nil {
			t.Fatal(err)
		}
	}
	results, err := rig.control.CreateTopics(t.Context(), []meta.NewTopic{{Name: "t", Assignment: replicas}}, false)
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	return rig
}

// fence has a broker fenced.
func (rig *adminRig) fence(id kafka.BrokerID) {
	rig.t.Helper()
	b, _ := rig.control.Image().Broker(id)
	if err := rig.control.FenceBroker(id, b.Epoch); err != nil {
		rig.t.Fatal(err)
	}
}

// unfence has a broker unfenced.
func (rig *adminRig) unfence(id kafka.BrokerID) {
	rig.t.Helper()
	b, _ := rig.control.Image().Broker(id)
	if err := rig.control.UnfenceBroker(id, b.Epoch); err != nil {
		rig.t.Fatal(err)
	}
}

// alterISR lets the leader of a partition of t change who is in sync.
func (rig *adminRig) alterISR(n int32, isr ...kafka.BrokerID) {
	rig.t.Helper()
	topic, _ := rig.control.Image().Topic("t")
	p := &topic.Partitions[n]
	leader, _ := rig.control.Image().Broker(p.Leader)
	c := meta.ISRChange{PartitionID: meta.PartitionID{Topic: topic.ID, Partition: n}, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch}
	for _, id := range isr {
		c.ISR = append(c.ISR, meta.ISRReplica{ID: id, Epoch: -1})
	}
	results, err := rig.control.AlterISR(rig.t.Context(), p.Leader, leader.Epoch, []meta.ISRChange{c})
	if err != nil || results[0].Err != nil && results[0].Err.Code != kafka.ErrNewLeaderElected {
		rig.t.Fatal(err, results)
	}
}

// partition is a partition of t.
func (rig *adminRig) partition(n int) meta.Partition {
	topic, _ := rig.control.Image().Topic("t")
	return topic.Partitions[n]
}

// elect asks for an election of partitions of t; nil: of all topics. It returns
// "partition: error" of each.
func elect(rig *adminRig, kind int8, partitions ...int32) []string {
	rig.t.Helper()
	q := kmsg.NewPtrElectLeadersRequest()
	q.ElectionType, q.TimeoutMillis = kind, 5000
	if partitions != nil {
		q.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: partitions}}
	}
	out := []string{}
	for _, topic := range ask[*kmsg.ElectLeadersResponse](rig, 2, q).Topics {
		for _, p := range topic.Partitions {
			out = append(out, fmt.Sprintf("%s-%d: %s", topic.Topic, p.Partition, kafka.ErrorCode(p.ErrorCode)))
		}
	}
	return out
}

func TestElections(t *testing.T) {
	rig := threeBrokers(t, []kafka.BrokerID{1, 2}, []kafka.BrokerID{2, 3}, []kafka.BrokerID{3, 2})
	rig.fence(2)
	rig.fence(3)
	for _, c := range []struct {
		says       string
		kind       int8
		partitions []int32
		want       []string
	}{
		{"preferred", 0, []int32{0, 1, 7}, []string{"t-0: ELECTION_NOT_NEEDED", "t-1: PREFERRED_LEADER_NOT_AVAILABLE", "t-7: UNKNOWN_TOPIC_OR_PARTITION"}},
		{"unclean", 1, []int32{0, 2}, []string{"t-0: ELECTION_NOT_NEEDED", "t-2: ELIGIBLE_LEADERS_NOT_AVAILABLE"}},
		{"preferred of all", 0, nil, []string{"t-1: PREFERRED_LEADER_NOT_AVAILABLE", "t-2: PREFERRED_LEADER_NOT_AVAILABLE"}},
	} {
		if got := elect(rig, c.kind, c.partitions...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.says, got, c.want)
		}
	}
	rig.unfence(3)
	rig.unfence(2)
	rig.alterISR(1, 3, 2) // broker 3 leads it now
	if got, want := elect(rig, 0), []string{"t-1: NONE"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if p := rig.partition(1); p.Leader != 2 {
		t.Errorf("%d leads, want the preferred 2", p.Leader)
	}
	if got := elect(rig, 0); len(got) != 0 {
		t.Errorf("again: %q, want nothing left", got)
	}
}

// reassign asks that partition 0 of t gets other replicas; nil: that it stays.
func reassign(rig *adminRig, version int16, keepFactor bool, replicas []int32) string {
	rig.t.Helper()
	q := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	q.TimeoutMillis, q.AllowReplicationFactorChange = 5000, !keepFactor
	q.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "t", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: replicas}}}}
	p := ask[*kmsg.AlterPartitionAssignmentsResponse](rig, version, q).Topics[0].Partitions[0]
	return kafka.ErrorCode(p.ErrorCode).String() + " " + text(p.ErrorMessage)
}

// moving is what ListPartitionReassignments says.
func moving(rig *adminRig) string {
	rig.t.Helper()
	out := ""
	for _, topic := range ask[*kmsg.ListPartitionReassignmentsResponse](rig, 0, kmsg.NewPtrListPartitionReassignmentsRequest()).Topics {
		for _, p := range topic.Partitions {
			out += fmt.Sprintf("%v +%v -%v", p.Replicas, p.AddingReplicas, p.RemovingReplicas)
		}
	}
	return out
}

func TestReassignments(t *testing.T) {
	rig := threeBrokers(t, []kafka.BrokerID{1, 2})
	steps := []struct {
		says       string
		keepFactor bool
		replicas   []int32
		want       string
		moving     string
	}{
		{"nothing to give up", false, nil, "NO_REASSIGNMENT_IN_PROGRESS ", ""},
		{"one replica more", true, []int32{1, 2, 3}, "INVALID_REPLICATION_FACTOR The replication factor is changed from 2 to 3", ""},
		{"to another broker", true, []int32{2, 3}, "NONE ", "[2 3 1] +[3] -[1]"},
		{"given up", false, nil, "NONE ", ""},
		{"away from both", false, []int32{3}, "NONE ", "[3 1 2] +[3] -[1 2]"},
		{"only in another order", false, []int32{2, 1}, "NONE ", ""},
	}
	for _, s := range steps {
		if got := reassign(rig, 1, s.keepFactor, s.replicas); got != s.want {
			t.Errorf("%s: %q, want %q", s.says, got, s.want)
		}
		if got := moving(rig); got != s.moving {
			t.Errorf("%s: %q moves, want %q", s.says, got, s.moving)
		}
	}
	reassign(rig, 0, false, []int32{2, 3})
	rig.alterISR(0, 2, 1, 3) // the new replica is in sync
	if p := rig.partition(0); moving(rig) != "" || !slices.Equal(p.Replicas, []kafka.BrokerID{2, 3}) || p.Leader != 2 {
		t.Errorf("after the new replica caught up: %+v", p)
	}
}

func TestUnregisteredBrokersAreForgotten(t *testing.T) {
	rig := threeBrokers(t, []kafka.BrokerID{2, 1})
	unregister := func(id int32) kafka.ErrorCode {
		q := kmsg.NewPtrUnregisterBrokerRequest()
		q.BrokerID = id
		return kafka.ErrorCode(ask[*kmsg.UnregisterBrokerResponse](rig, 0, q).ErrorCode)
	}
	if got := unregister(2); got != kafka.None {
		t.Fatalf("got %s", got)
	}
	if got := unregister(2); got != kafka.ErrBrokerIDNotRegistered {
		t.Errorf("again: %s, want BROKER_ID_NOT_REGISTERED", got)
	}
	got := ask[*kmsg.MetadataResponse](rig, 12, kmsg.NewPtrMetadataRequest())
	if p := got.Topics[0].Partitions[0]; len(got.Brokers) != 2 || p.Leader != 1 || !slices.Equal(p.OfflineReplicas, []int32{2}) {
		t.Errorf("brokers %+v, partition %+v: want 2 brokers, leader 1, replica 2 offline", got.Brokers, p)
	}
}

// TestPartitionsOfLostBrokers is what DescribeTopicPartitions tells of eligible leader
// replicas (KIP-966), and that a partition nobody leads is no error there.
func TestPartitionsOfLostBrokers(t *testing.T) {
	rig := threeBrokers(t, []kafka.BrokerID{1, 2})
	topic := func(min string) {
		if _, err := rig.control.AlterConfigs(t.Context(), []meta.ConfigChange{{Resource: meta.Resource{Type: meta.ResourceTopic, Name: "t"},
			Values: map[string]string{"min.insync.replicas": min}}}, false); err != nil {
			t.Fatal(err)
		}
	}
	topic("2")
	q := kmsg.NewPtrDescribeTopicPartitionsRequest()
	q.ResponsePartitionLimit = 10
	look := func() string {
		p := ask[*kmsg.DescribeTopicPartitionsResponse](rig, 0, q).Topics[0].Partitions[0]
		return fmt.Sprintf("error %d leader %d isr %v elr %v last %v offline %v", p.ErrorCode, p.LeaderID, p.ISR, p.EligibleLeaderReplicas, p.LastKnownELR, p.OfflineReplicas)
	}
	for _, s := range []struct {
		lost kafka.BrokerID
		want string
	}{
		{0, "error 0 leader 1 isr [1 2] elr [] last [] offline []"},
		{2, "error 0 leader 1 isr [1] elr [2] last [] offline [2]"},
		{1, "error 0 leader -1 isr [] elr [1 2] last [1] offline [1 2]"},
	} {
		if s.lost != 0 {
			rig.fence(s.lost)
		}
		if got := look(); got != s.want {
			t.Errorf("after broker %d was lost: %s, want %s", s.lost, got, s.want)
		}
	}
}

// votingControl has voters that change.
type votingControl struct {
	meta.Control
	quorum meta.Quorum
	asked  []string
}

func (c *votingControl) Quorum() meta.Quorum { return c.quorum }

func (c *votingControl) AddVoter(_ context.Context, id kafka.BrokerID) error {
	c.asked = append(c.asked, fmt.Sprint("add ", id))
	return nil
}

func (c *votingControl) RemoveVoter(_ context.Context, id kafka.BrokerID) error {
	c.asked = append(c.asked, fmt.Sprint("remove ", id))
	return kafka.ErrRequestTimedOut.Err("")
}

// TestVotersAreInTheOrderOfTheirIDs, in which Kafka's tool prints them.
func TestVotersAreInTheOrderOfTheirIDs(t *testing.T) {
	rig := newAdminRig(t, adminOptions{})
	rig.api.Close()
	control := &votingControl{Control: rig.control, quorum: meta.Quorum{Leader: 3,
		Voters: []meta.QuorumReplica{{ID: 3}, {ID: 1}, {ID: 2}}, Observers: []meta.QuorumReplica{{ID: 5}, {ID: 4}}}}
	resolver := config.NewResolver(nil).For(self)
	rig.api = api.New(api.Deps{Self: self, Control: control, Clock: clock.System{}, Config: func() *config.Resolver { return resolver }})
	q := kmsg.NewPtrDescribeQuorumRequest()
	q.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	got := ask[*kmsg.DescribeQuorumResponse](rig, 2, q)
	ids := func(all []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) (out []int32) {
		for _, r := range all {
			out = append(out, r.ReplicaID)
		}
		return out
	}
	p := got.Topics[0].Partitions[0]
	if voters, observers := ids(p.CurrentVoters), ids(p.Observers); !slices.Equal(voters, []int32{1, 2, 3}) || !slices.Equal(observers, []int32{4, 5}) {
		t.Errorf("voters %v, observers %v", voters, observers)
	}
	if len(got.Nodes) != 3 || got.Nodes[0].NodeID != 1 || got.Nodes[2].NodeID != 3 {
		t.Errorf("nodes %+v", got.Nodes)
	}
}

func TestVoters(t *testing.T) {
	one, two, stranger := kafka.NewTopicID(), kafka.NewTopicID(), kafka.NewTopicID()
	rig := newAdminRig(t, adminOptions{})
	rig.api.Close()
	control := &votingControl{Control: rig.control, quorum: meta.Quorum{Leader: 1,
		Voters: []meta.QuorumReplica{{ID: 1, DirectoryID: one}}, Observers: []meta.QuorumReplica{{ID: 2, DirectoryID: two}}}}
	resolver := config.NewResolver(nil).For(self)
	rig.api = api.New(api.Deps{Self: self, Control: control, Config: func() *config.Resolver { return resolver }})
	add := func(cluster string, id int32, directory kafka.TopicID, name string) kafka.ErrorCode {
		q := kmsg.NewPtrAddRaftVoterRequest()
		q.ClusterID, q.VoterID, q.VoterDirectoryID = &cluster, id, directory
		q.Listeners = []kmsg.AddRaftVoterRequestListener{{Name: name, Host: "h", Port: 1}}
		return kafka.ErrorCode(ask[*kmsg.AddRaftVoterResponse](rig, 1, q).ErrorCode)
	}
	remove := func(id int32, directory kafka.TopicID) kafka.ErrorCode {
		q := kmsg.NewPtrRemoveRaftVoterRequest()
		q.VoterID, q.VoterDirectoryID = id, directory
		return kafka.ErrorCode(ask[*kmsg.RemoveRaftVoterResponse](rig, 0, q).ErrorCode)
	}
	for _, c := range []struct {
		says      string
		got, want kafka.ErrorCode
	}{
		{"another cluster", add("other", 2, two, "CONTROLLER"), kafka.ErrInconsistentClusterID},
		{"nobody", add("cluster-a", -1, two, "CONTROLLER"), kafka.ErrInvalidRequest},
		{"no directory", add("cluster-a", 2, kafka.NoTopicID, "CONTROLLER"), kafka.ErrInvalidRequest},
		{"no address", add("cluster-a", 2, two, "OTHER"), kafka.ErrInvalidRequest},
		{"a voter", add("cluster-a", 1, stranger, "CONTROLLER"), kafka.ErrDuplicateVoter},
		{"another disk", add("cluster-a", 2, stranger, "CONTROLLER"), kafka.ErrRequestTimedOut},
		{"an observer", add("cluster-a", 2, two, "CONTROLLER"), kafka.None},
		{"remove an observer", remove(2, two), kafka.ErrVoterNotFound},
		{"remove another disk", remove(1, two), kafka.ErrVoterNotFound},
		{"remove a voter", remove(1, one), kafka.ErrRequestTimedOut},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.says, c.got, c.want)
		}
	}
	if want := []string{"add 2", "remove 1"}; !slices.Equal(control.asked, want) {
		t.Errorf("asked the cluster to %q, want %q", control.asked, want)
	}
}
