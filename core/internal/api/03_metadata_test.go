package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/api"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// metadataOf asks for topics by name, and returns "name: error" of each.
func metadataOf(rig *adminRig, version int16, create bool, names ...string) []string {
	rig.t.Helper()
	q := kmsg.NewPtrMetadataRequest()
	q.AllowAutoTopicCreation = create
	for _, name := range names {
		q.Topics = append(q.Topics, kmsg.MetadataRequestTopic{Topic: &name})
	}
	var out []string
	for _, t := range ask[*kmsg.MetadataResponse](rig, version, q).Topics {
		out = append(out, text(t.Topic)+": "+kafka.ErrorCode(t.ErrorCode).String())
	}
	return out
}

// TestMETA01 is the meaning of no topics: in version 0 it is all, later none, and
// null is all.
func TestMETA01(t *testing.T) {
	rig := newAdminRig(t, adminOptions{}, "a", "b")
	for version := int16(0); version <= 13; version++ {
		want := 0
		if version == 0 {
			want = 2
		}
		q := kmsg.NewPtrMetadataRequest()
		q.Topics = []kmsg.MetadataRequestTopic{}
		if got := len(ask[*kmsg.MetadataResponse](rig, version, q).Topics); got != want {
			t.Errorf("version %d: empty list gives %d topics, want %d", version, got, want)
		}
		if version == 0 {
			continue
		}
		if got := len(ask[*kmsg.MetadataResponse](rig, version, kmsg.NewPtrMetadataRequest()).Topics); got != 2 {
			t.Errorf("version %d: null gives %d topics, want 2", version, got)
		}
	}
}

func TestMetadataOfTheCluster(t *testing.T) {
	rig := newAdminRig(t, adminOptions{}, "a")
	got := ask[*kmsg.MetadataResponse](rig, 13, kmsg.NewPtrMetadataRequest())
	if text(got.ClusterID) != "cluster-a" || got.ControllerID != 1 || len(got.Brokers) != 1 {
		t.Fatalf("got %+v", got)
	}
	if b := got.Brokers[0]; b.NodeID != 1 || b.Host != "one.test" || b.Port != 9092 || text(b.Rack) != "r1" {
		t.Errorf("broker %+v: want the address of the client's listener", b)
	}
	id, _ := rig.control.Image().Topic("a")
	if got.Topics[0].TopicID != id.ID {
		t.Error("the topic has another id")
	}
}

// TestTopicsOnDemand: unknown this time, made in the background, each name once.
func TestTopicsOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rig := newAdminRig(t, adminOptions{static: config.Static{"num.partitions": "3"}}, "a.b")
		rig.control.gate = make(chan struct{})
		for range 5 {
			if got := metadataOf(rig, 9, true, "new"); !slices.Equal(got, []string{"new: UNKNOWN_TOPIC_OR_PARTITION"}) {
				t.Fatalf("got %q", got)
			}
		}
		synctest.Wait()
		if n := rig.control.creations.Load(); n != 1 {
			t.Errorf("%d commands for one name, want 1", n)
		}
		metadataOf(rig, 3, false, "old-client") // below version 4 there is no choice
		metadataOf(rig, 9, true, "another", "bad name", "a_b", "__consumer_offsets", "__transaction_state", "__cluster_metadata")
		close(rig.control.gate)
		synctest.Wait()
		if want := []string{"__consumer_offsets", "another", "new", "old-client"}; !slices.Equal(rig.control.asked(), want) {
			t.Errorf("asked for %q, want %q", rig.control.asked(), want)
		}
		made, ok := rig.control.Image().Topic("new")
		if !ok || len(made.Partitions) != 3 {
			t.Errorf("topic %+v, want 3 partitions by num.partitions", made)
		}
		if got := metadataOf(rig, 9, true, "new"); !slices.Equal(got, []string{"new: NONE"}) {
			t.Errorf("afterwards: %q", got)
		}
	})
}

// TestRefusedTopicsPause: a client that asks for an impossible topic on and on does
// not keep the cluster busy; when the topic has become possible, it is made.
func TestRefusedTopicsPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rig := newAdminRig(t, adminOptions{static: config.Static{"default.replication.factor": "2"}})
		for range 100 {
			metadataOf(rig, 9, true, "x")
			synctest.Wait()
		}
		if n := rig.control.creations.Load(); n != 1 {
			t.Errorf("%d commands, want 1", n)
		}
		if _, err := rig.control.RegisterBroker(t.Context(), meta.Registration{ID: 2, CleanShutdown: true}); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second) // of the bubble: brokers come soon
		metadataOf(rig, 9, true, "x")
		synctest.Wait()
		if !rig.exists("x") {
			t.Error("the topic was not tried again")
		}
	})
}

func TestNoTopicOnDemand(t *testing.T) {
	for _, c := range []struct {
		why     string
		o       adminOptions
		allowed bool
		want    string
	}{
		{"the client does not want it", adminOptions{}, false, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"the broker does not want it", adminOptions{static: config.Static{"auto.create.topics.enable": "false"}}, true, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"the client may not", adminOptions{authorizer: denying{api.OpCreate: true}}, true, "TOPIC_AUTHORIZATION_FAILED"},
		{"the client may not see it", adminOptions{authorizer: denying{api.OpDescribe: true}}, true, "TOPIC_AUTHORIZATION_FAILED"},
	} {
		synctest.Test(t, func(t *testing.T) {
			rig := newAdminRig(t, c.o)
			if got := metadataOf(rig, 9, c.allowed, "x"); !slices.Equal(got, []string{"x: " + c.want}) {
				t.Errorf("%s: got %q, want %s", c.why, got, c.want)
			}
			synctest.Wait()
			if rig.exists("x") {
				t.Errorf("%s: the topic was made", c.why)
			}
		})
	}
}

// TestPartitionWithoutLeader is listed all the same, so that clients know that it
// is there.
func TestPartitionWithoutLeader(t *testing.T) {
	img := meta.Empty("c").Edit(1)
	img.PutBroker(&meta.Broker{ID: 1, Endpoints: []meta.Endpoint{{Listener: listener, Host: "h", Port: 1}}})
	img.PutBroker(&meta.Broker{ID: 2, Fenced: true, Endpoints: []meta.Endpoint{{Listener: listener, Host: "h2", Port: 1}}})
	img.PutBroker(&meta.Broker{ID: 3, Endpoints: []meta.Endpoint{{Listener: "OTHER", Host: "h3", Port: 1}}})
	img.PutTopic(&meta.Topic{Name: "t", ID: kafka.NewTopicID(), Partitions: []meta.Partition{
		{Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{1}, Leader: kafka.NoBroker, LeaderEpoch: 4},
		{Replicas: []kafka.BrokerID{3}, ISR: []kafka.BrokerID{3}, Leader: 3, LeaderEpoch: 5},
	}})
	rig := newAdminRig(t, adminOptions{})
	rig.api.Close()
	fixed := &fixedControl{Control: rig.control, image: img.Image()}
	resolver := config.NewResolver(nil).For(self)
	rig.api = api.New(api.Deps{Self: self, Control: fixed, Config: func() *config.Resolver { return resolver }})
	for _, c := range []struct {
		version        int16
		want, replicas string
	}{
		{13, "5/-1/4/[2] 72/-1/5/[3]", "[1 2] [3] "},
		{5, "5/-1/0/[2] 5/-1/0/[3]", "[1 2] [3] "},
		{0, "5/-1/0/[] 5/-1/0/[]", "[1] [] "},
	} {
		got := ask[*kmsg.MetadataResponse](rig, c.version, kmsg.NewPtrMetadataRequest())
		var out []string
		replicas := ""
		for _, p := range got.Topics[0].Partitions {
			replicas += fmt.Sprint(p.Replicas, " ")
			out = append(out, fmt.Sprintf("%d/%d/%d/%v", p.ErrorCode, p.Leader, max(p.LeaderEpoch, 0), p.OfflineReplicas))
		}
		if strings.Join(out, " ") != c.want {
			t.Errorf("version %d: error/leader/epoch/offline %q, want %q", c.version, out, c.want)
		}
		if len(got.Brokers) != 1 || got.Brokers[0].NodeID != 1 {
			t.Errorf("version %d: brokers %+v, want only the one that can be reached", c.version, got.Brokers)
		}
		if replicas != c.replicas {
			t.Errorf("version %d: replicas %q, want %q", c.version, replicas, c.replicas)
		}
	}
}

// fixedControl has an image of the test's.
type fixedControl struct {
	meta.Control
	image *meta.Image
}

func (c *fixedControl) Image() *meta.Image { return c.image }

// TestHiddenTopicsAreNotListed: who may not describe a topic does not learn of it.
func TestHiddenTopicsAreNotListed(t *testing.T) {
	rig := newAdminRig(t, adminOptions{authorizer: denying{api.OpDescribe: true}}, "secret")
	if got := ask[*kmsg.MetadataResponse](rig, 9, kmsg.NewPtrMetadataRequest()); len(got.Topics) != 0 {
		t.Errorf("got %+v, want none", got.Topics)
	}
	id, _ := rig.control.Image().Topic("secret")
	q := kmsg.NewPtrMetadataRequest()
	q.Topics = []kmsg.MetadataRequestTopic{{TopicID: id.ID}}
	if got := ask[*kmsg.MetadataResponse](rig, 12, q); got.Topics[0].Topic != nil || kafka.ErrorCode(got.Topics[0].ErrorCode) != kafka.ErrTopicAuthorizationFailed {
		t.Errorf("by id: %+v, want an error without the name", got.Topics[0])
	}
}

// TestMETA05 has the names that can't be a topic's. None may become a path.
func TestMETA05(t *testing.T) {
	rig := newAdminRig(t, adminOptions{})
	long := strings.Repeat("a", 249)
	for _, name := range []string{"", ".", "..", long + "a", "a/b", "../x", "a\x00b", "a b", "é", "a\\b", "a:b"} {
		if got := metadataOf(rig, 9, true, name); got[0] != name+": INVALID_TOPIC_EXCEPTION" {
			t.Errorf("%q: got %q", name, got)
		}
		got := createTopic(rig, kmsg.CreateTopicsRequestTopic{Topic: name, NumPartitions: 1, ReplicationFactor: 1})
		if kafka.ErrorCode(got.ErrorCode) != kafka.ErrInvalidTopic {
			t.Errorf("create %q: got %v %s", name, kafka.ErrorCode(got.ErrorCode), text(got.ErrorMessage))
		}
	}
	if got := createTopic(rig, kmsg.CreateTopicsRequestTopic{Topic: long, NumPartitions: 1, ReplicationFactor: 1}); got.ErrorCode != 0 {
		t.Errorf("249 letters: got %v", kafka.ErrorCode(got.ErrorCode))
	}
	if rig.control.Image().TopicCount() != 1 {
		t.Errorf("%d topics, want the one with the legal name", rig.control.Image().TopicCount())
	}
}

// BenchmarkMetadata is the answer about all topics, which clients of large clusters
// ask for every few minutes.
func BenchmarkMetadata(b *testing.B) {
	for _, topics := range []int{10, 1000} {
		b.Run(fmt.Sprintf("topics=%d", topics), func(b *testing.B) {
			rig := newAdminRig(b, adminOptions{})
			for n := range topics {
				rig.create(fmt.Sprintf("t%d", n), 10)
			}
			b.ReportAllocs()
			for b.Loop() {
				ask[*kmsg.MetadataResponse](rig, 12, kmsg.NewPtrMetadataRequest())
			}
		})
	}
}
