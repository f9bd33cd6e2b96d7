package api_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/api"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// TestAPIVersionsShowsWhatIsTaken: the table that is shown and the versions that
// are taken are one.
func TestAPIVersionsShowsWhatIsTaken(t *testing.T) {
	rig := newAdminRig(t, adminOptions{})
	for version := int16(0); version <= 5; version++ {
		q := kmsg.NewPtrApiVersionsRequest()
		q.ClientSoftwareName, q.ClientSoftwareVersion = "test", "1.0"
		got := ask[*kmsg.ApiVersionsResponse](rig, version, q)
		for _, k := range got.ApiKeys {
			least, most, ok := rig.api.Versions(k.ApiKey)
			if !ok || k.MaxVersion != most || k.MinVersion > least || (k.MinVersion != least && k.ApiKey != 0) {
				t.Errorf("key %d is shown as %d-%d and taken as %d-%d", k.ApiKey, k.MinVersion, k.MaxVersion, least, most)
			}
		}
		if len(got.ApiKeys) == 0 || got.ApiKeys[0].ApiKey != 0 || got.ApiKeys[0].MinVersion != 0 {
			t.Errorf("version %d: Produce is not shown from 0 on (KAFKA-18659): %+v", version, got.ApiKeys)
		}
	}
}

// TestKIP511 answers any version, without reading a body that nobody understands.
func TestKIP511(t *testing.T) {
	rig := newAdminRig(t, adminOptions{})
	for _, version := range []int16{6, 99, 32767, -1, -32768} {
		r, rec := wire.RecordBytes(wire.Header{Key: 18, Version: version, CorrelationID: 1}, []byte{0xff, 0xff, 0xff})
		rig.api.Handle(r)
		resp := kmsg.NewPtrApiVersionsResponse()
		if err := rec.Message(resp); err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if kafka.ErrorCode(resp.ErrorCode) != kafka.ErrUnsupportedVersion || len(resp.ApiKeys) != 1 || resp.ApiKeys[0].ApiKey != 18 || resp.ApiKeys[0].MaxVersion != 5 {
			t.Errorf("version %d: got %v %+v", version, kafka.ErrorCode(resp.ErrorCode), resp.ApiKeys)
		}
	}
}

// TestKIP1242 tells a client that reached another cluster or node than it thinks.
func TestKIP1242(t *testing.T) {
	rig := newAdminRig(t, adminOptions{})
	right, wrong := "cluster-a", "cluster-b"
	for _, c := range []struct {
		cluster *string
		node    int32
		want    kafka.ErrorCode
	}{
		{nil, -1, kafka.None}, {&right, 1, kafka.None}, {&right, 2, kafka.ErrRebootstrapRequired},
		{&wrong, 1, kafka.ErrRebootstrapRequired}, {&right, -1, kafka.ErrInvalidRequest}, {nil, 1, kafka.ErrInvalidRequest},
	} {
		q := kmsg.NewPtrApiVersionsRequest()
		q.ClientSoftwareName, q.ClientSoftwareVersion, q.ClusterID, q.NodeID = "a", "1", c.cluster, c.node
		if got := kafka.ErrorCode(ask[*kmsg.ApiVersionsResponse](rig, 5, q).ErrorCode); got != c.want {
			t.Errorf("cluster %q node %d: %v, want %v", text(c.cluster), c.node, got, c.want)
		}
	}
}

// TestUnknownVersionsAndBodiesEndTheConnection, as in Kafka.
func TestUnknownVersionsAndBodiesEndTheConnection(t *testing.T) {
	rig := newAdminRig(t, adminOptions{})
	for _, h := range []wire.Header{{Key: 3, Version: 14}, {Key: 3, Version: -1}, {Key: 19, Version: 1}, {Key: 4, Version: 0}, {Key: -1}, {Key: 999}} {
		r, rec := wire.RecordBytes(h, nil)
		rig.api.Handle(r)
		if _, err := rec.Frame(); err == nil {
			t.Errorf("key %d version %d was answered", h.Key, h.Version)
		}
	}
	for key := int16(0); key < 80; key++ {
		least, _, ok := rig.api.Versions(key)
		if !ok || key == 16 || key == 18 || key == 74 { // an empty body is right for these
			continue
		}
		r, rec := wire.RecordBytes(wire.Header{Key: key, Version: least}, []byte{0x7f})
		rig.api.Handle(r)
		if _, err := rec.Frame(); err == nil {
			t.Errorf("key %d answered a body that makes no sense", key)
		}
	}
}

// TestConfigsThatChangeMeanwhile: of two changes at once neither is lost.
func TestConfigsThatChangeMeanwhile(t *testing.T) {
	rig := newAdminRig(t, adminOptions{}, "a")
	topic := meta.Resource{Type: meta.ResourceTopic, Name: "a"}
	rig.control.onAlter = func() {
		if rig.control.alters.Load() > 1 {
			return
		}
		_, err := rig.control.Control.AlterConfigs(context.Background(), []meta.ConfigChange{{Resource: topic, Values: map[string]string{"segment.ms": "5"}}}, false)
		if err != nil {
			t.Error(err)
		}
	}
	if code := setConfig(rig, 2, "a", "retention.ms", "7"); code != kafka.None {
		t.Fatalf("got %v", code)
	}
	if got := rig.control.Image().Config(topic); got["retention.ms"] != "7" || got["segment.ms"] != "5" {
		t.Errorf("got %v, want both changes", got)
	}
	rig.control.onAlter = func() { // somebody who is always faster
		values := map[string]string{"segment.ms": fmt.Sprint(100 + rig.control.alters.Load())}
		_, err := rig.control.Control.AlterConfigs(context.Background(), []meta.ConfigChange{{Resource: topic, Previous: rig.control.Image().Config(topic), Values: values}}, false)
		if err != nil {
			t.Error(err)
		}
	}
	before := rig.control.alters.Load()
	if code := setConfig(rig, 2, "a", "retention.ms", "8"); code != kafka.ErrRequestTimedOut {
		t.Errorf("got %v, want the retries to end with REQUEST_TIMED_OUT", code)
	}
	if n := rig.control.alters.Load() - before; n != 5 {
		t.Errorf("%d attempts, want 5", n)
	}
}

// setConfig sets one key with IncrementalAlterConfigs.
func setConfig(rig *adminRig, kind int8, name, key, value string) kafka.ErrorCode {
	rig.t.Helper()
	q := kmsg.NewPtrIncrementalAlterConfigsRequest()
	q.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceType(kind), ResourceName: name,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Value: &value}}}}
	return kafka.ErrorCode(ask[*kmsg.IncrementalAlterConfigsResponse](rig, 1, q).Resources[0].ErrorCode)
}

// TestDynamicBrokerConfigTakesEffect: what is set by protocol counts at once.
func TestDynamicBrokerConfigTakesEffect(t *testing.T) {
	rig := newAdminRig(t, adminOptions{}, "a")
	if code := setConfig(rig, 4, "", "log.retention.ms", "888"); code != kafka.None {
		t.Fatal(code)
	}
	q := kmsg.NewPtrDescribeConfigsRequest()
	q.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: 2, ResourceName: "a", ConfigNames: []string{"retention.ms"}}}
	got := ask[*kmsg.DescribeConfigsResponse](rig, 4, q).Resources[0].Configs[0]
	if text(got.Value) != "888" || config.Source(got.Source) != config.SourceClusterWide {
		t.Errorf("retention.ms is %q by source %d, want 888 by the cluster-wide default", text(got.Value), got.Source)
	}
}

// TestPagesMakeTheWhole walks over all partitions in pages of every size.
func TestPagesMakeTheWhole(t *testing.T) {
	rig := newAdminRig(t, adminOptions{}, "a:3", "b:1", "c:4")
	want := []string{"a/0", "a/1", "a/2", "b/0", "c/0", "c/1", "c/2", "c/3"}
	for _, named := range []bool{false, true} {
		for limit := int32(1); limit <= 9; limit++ {
			var got []string
			q := kmsg.NewPtrDescribeTopicPartitionsRequest()
			q.ResponsePartitionLimit = limit
			if named {
				q.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "c"}, {Topic: "a"}, {Topic: "b"}}
			}
			for pages := 0; pages == 0 || q.Cursor != nil; pages++ {
				if pages > len(want) {
					t.Fatalf("limit %d: the pages do not end", limit)
				}
				resp := ask[*kmsg.DescribeTopicPartitionsResponse](rig, 0, q)
				n := 0
				for _, topic := range resp.Topics {
					for _, p := range topic.Partitions {
						got = append(got, fmt.Sprintf("%s/%d", text(topic.Topic), p.Partition))
						n++
					}
				}
				if n > int(limit) {
					t.Errorf("limit %d: a page has %d partitions", limit, n)
				}
				q.Cursor = nil
				if c := resp.NextCursor; c != nil {
					q.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: c.Topic, Partition: c.Partition}
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d, named %t: got %q", limit, named, got)
			}
		}
	}
}

// TestReassignmentsAreListed lists what moves and nothing else.
func TestReassignmentsAreListed(t *testing.T) {
	e := meta.Empty("c").Edit(1)
	e.PutTopic(&meta.Topic{Name: "t", ID: kafka.NewTopicID(), Partitions: []meta.Partition{
		{Replicas: []kafka.BrokerID{1}, ISR: []kafka.BrokerID{1}, Leader: 1},
		{Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{1}, Leader: 1, Adding: []kafka.BrokerID{2}, Removing: []kafka.BrokerID{1}},
	}})
	rig := newAdminRig(t, adminOptions{})
	rig.api.Close()
	resolver := config.NewResolver(nil).For(self)
	rig.api = api.New(api.Deps{Self: self, Control: &fixedControl{Control: rig.control, image: e.Image()}, Config: func() *config.Resolver { return resolver }})
	q := kmsg.NewPtrListPartitionReassignmentsRequest()
	got := ask[*kmsg.ListPartitionReassignmentsResponse](rig, 0, q)
	if len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 1 {
		t.Fatalf("got %+v", got.Topics)
	}
	if p := got.Topics[0].Partitions[0]; p.Partition != 1 || !slices.Equal(p.AddingReplicas, []int32{2}) || !slices.Equal(p.RemovingReplicas, []int32{1}) {
		t.Errorf("got %+v", p)
	}
	q.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "t", Partitions: []int32{0, 7, -1}}}
	if got := ask[*kmsg.ListPartitionReassignmentsResponse](rig, 0, q); len(got.Topics) != 0 {
		t.Errorf("partitions that do not move: %+v", got.Topics)
	}
}

// TestNobodyMayDoAnything goes through the admin keys with every right taken away:
// each refuses with its code, and nothing changes.
func TestNobodyMayDoAnything(t *testing.T) {
	all := denying{}
	for op := api.OpRead; op <= api.OpIdempotentWrite; op++ {
		all[op] = true
	}
	rig := newAdminRig(t, adminOptions{authorizer: all}, "a")
	index := rig.control.Image().Index
	name, value := "a", "1"
	check := func(what string, got int16, want kafka.ErrorCode) {
		t.Helper()
		if kafka.ErrorCode(got) != want {
			t.Errorf("%s: %v, want %v", what, kafka.ErrorCode(got), want)
		}
	}
	check("create", createTopic(rig, kmsg.CreateTopicsRequestTopic{Topic: "b", NumPartitions: 1, ReplicationFactor: 1}).ErrorCode, kafka.ErrTopicAuthorizationFailed)
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.TimeoutMillis, remove.Topics = 1000, []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}
	check("delete", ask[*kmsg.DeleteTopicsResponse](rig, 6, remove).Topics[0].ErrorCode, kafka.ErrTopicAuthorizationFailed)
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.TimeoutMillis, grow.Topics = 1000, []kmsg.CreatePartitionsRequestTopic{{Topic: "a", Count: 2}}
	check("grow", ask[*kmsg.CreatePartitionsResponse](rig, 3, grow).Topics[0].ErrorCode, kafka.ErrTopicAuthorizationFailed)
	check("set", int16(setConfig(rig, 2, "a", "retention.ms", "1")), kafka.ErrTopicAuthorizationFailed)
	check("set broker", int16(setConfig(rig, 4, "1", "log.retention.ms", "1")), kafka.ErrClusterAuthorizationFailed)
	old := kmsg.NewPtrAlterConfigsRequest()
	old.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: 2, ResourceName: "a", Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: &value}}}}
	check("alter", ask[*kmsg.AlterConfigsResponse](rig, 2, old).Resources[0].ErrorCode, kafka.ErrTopicAuthorizationFailed)
	describe := kmsg.NewPtrDescribeConfigsRequest()
	describe.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: 2, ResourceName: "a"}, {ResourceType: 4, ResourceName: "1"}}
	configs := ask[*kmsg.DescribeConfigsResponse](rig, 4, describe).Resources
	check("describe topic", configs[0].ErrorCode, kafka.ErrTopicAuthorizationFailed)
	check("describe broker", configs[1].ErrorCode, kafka.ErrClusterAuthorizationFailed)
	check("reassignments", ask[*kmsg.ListPartitionReassignmentsResponse](rig, 0, kmsg.NewPtrListPartitionReassignmentsRequest()).ErrorCode, kafka.ErrClusterAuthorizationFailed)
	check("quorum", ask[*kmsg.DescribeQuorumResponse](rig, 2, kmsg.NewPtrDescribeQuorumRequest()).ErrorCode, kafka.ErrClusterAuthorizationFailed)
	check("features", ask[*kmsg.UpdateFeaturesResponse](rig, 2, kmsg.NewPtrUpdateFeaturesRequest()).ErrorCode, kafka.ErrClusterAuthorizationFailed)
	check("list configs", ask[*kmsg.ListConfigResourcesResponse](rig, 1, kmsg.NewPtrListConfigResourcesRequest()).ErrorCode, kafka.ErrClusterAuthorizationFailed)
	check("elections", ask[*kmsg.ElectLeadersResponse](rig, 2, kmsg.NewPtrElectLeadersRequest()).ErrorCode, kafka.ErrClusterAuthorizationFailed)
	check("moves", ask[*kmsg.AlterPartitionAssignmentsResponse](rig, 1, kmsg.NewPtrAlterPartitionAssignmentsRequest()).ErrorCode, kafka.ErrClusterAuthorizationFailed)
	check("unregister", ask[*kmsg.UnregisterBrokerResponse](rig, 0, kmsg.NewPtrUnregisterBrokerRequest()).ErrorCode, kafka.ErrClusterAuthorizationFailed)
	check("add voter", ask[*kmsg.AddRaftVoterResponse](rig, 1, kmsg.NewPtrAddRaftVoterRequest()).ErrorCode, kafka.ErrClusterAuthorizationFailed)
	check("remove voter", ask[*kmsg.RemoveRaftVoterResponse](rig, 0, kmsg.NewPtrRemoveRaftVoterRequest()).ErrorCode, kafka.ErrClusterAuthorizationFailed)
	pages := kmsg.NewPtrDescribeTopicPartitionsRequest()
	pages.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "a"}}
	check("partitions", ask[*kmsg.DescribeTopicPartitionsResponse](rig, 0, pages).Topics[0].ErrorCode, kafka.ErrTopicAuthorizationFailed)
	if got := rig.control.Image().Index; got != index {
		t.Errorf("the image went from %d to %d", index, got)
	}
}

// TestRefusalsAreCounted: an operator sees which key refuses what.
func TestRefusalsAreCounted(t *testing.T) {
	rig := newAdminRig(t, adminOptions{}, "a")
	for range 3 {
		createTopic(rig, kmsg.CreateTopicsRequestTopic{Topic: "a", NumPartitions: 1, ReplicationFactor: 1})
	}
	refused := rig.metrics.Counter("mortise_api_refusals_total", "", "key", "CreateTopics", "error", "TOPIC_ALREADY_EXISTS").Load()
	if refused != 3 {
		t.Errorf("%d refusals, want 3", refused)
	}
}
