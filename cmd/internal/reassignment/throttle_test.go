package reassignment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fakeCluster has moves under way, takes configs, and says which topics have some.
type fakeCluster struct {
	pending []kmsg.ListPartitionReassignmentsResponseTopic
	brokers []int32
	configs map[string]map[string]string // by resource; what was taken away is empty
	refused string                       // a resource
}

// Request implements kmsg.Requestor.
func (c *fakeCluster) Request(_ context.Context, q kmsg.Request) (kmsg.Response, error) {
	switch q := q.(type) {
	case *kmsg.ListPartitionReassignmentsRequest:
		r := kmsg.NewPtrListPartitionReassignmentsResponse()
		if q.Topics == nil { // all of them
			r.Topics = c.pending
		}
		return r, nil
	case *kmsg.MetadataRequest:
		r := kmsg.NewPtrMetadataResponse()
		for _, id := range c.brokers {
			r.Brokers = append(r.Brokers, kmsg.MetadataResponseBroker{NodeID: id})
		}
		return r, nil
	case *kmsg.IncrementalAlterConfigsRequest:
		r := kmsg.NewPtrIncrementalAlterConfigsResponse()
		for _, one := range q.Resources {
			a := kmsg.NewIncrementalAlterConfigsResponseResource()
			a.ResourceType, a.ResourceName = one.ResourceType, one.ResourceName
			if one.ResourceName == c.refused {
				a.ErrorCode = kerr.ClusterAuthorizationFailed.Code
			} else {
				c.set(one)
			}
			r.Resources = append(r.Resources, a)
		}
		return r, nil
	case *kmsg.DescribeConfigsRequest:
		r := kmsg.NewPtrDescribeConfigsResponse()
		for _, one := range q.Resources {
			a := kmsg.NewDescribeConfigsResponseResource()
			a.ResourceName = one.ResourceName
			for _, key := range one.ConfigNames {
				a.Configs = append(a.Configs, kmsg.DescribeConfigsResponseResourceConfig{Name: key, Value: kmsg.StringPtr(c.configs[one.ResourceName][key])})
			}
			r.Resources = append(r.Resources, a)
		}
		return r, nil
	}
	return nil, errors.ErrUnsupported
}

// set notes the configs of a resource.
func (c *fakeCluster) set(r kmsg.IncrementalAlterConfigsRequestResource) {
	values := map[string]string{}
	for _, k := range r.Configs {
		values[k.Name] = text(k.Value)
	}
	if c.configs == nil {
		c.configs = map[string]map[string]string{}
	}
	c.configs[r.ResourceName] = values
}

// Who has a partition sends, who gets it fetches, and what moves already on the same
// topic stays held back.
func TestThrottleNamesWhoSendsAndWhoFetches(t *testing.T) {
	c := &fakeCluster{brokers: []int32{1, 2, 3, 4, 5, 6, 7}, pending: []kmsg.ListPartitionReassignmentsResponseTopic{
		{Topic: "t", Partitions: []kmsg.ListPartitionReassignmentsResponseTopicPartition{
			{Partition: 4, Replicas: []int32{5, 1}, AddingReplicas: []int32{5}},
			{Partition: 1, Replicas: []int32{6, 2}, AddingReplicas: []int32{6}}}},
		{Topic: "other", Partitions: []kmsg.ListPartitionReassignmentsResponseTopicPartition{{Replicas: []int32{9, 8}, AddingReplicas: []int32{9}}}}}}
	moves := []Move{{"t", 0, []int32{1, 2}, []int32{2, 3}}, {"t", 1, []int32{6, 2}, []int32{7, 2}}, {"u", 0, []int32{1, 2}, []int32{1}}}
	if err := Throttle(context.Background(), c, moves, 500); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{
		"t": {leaderReplicas: "1:2,4:1,0:1,0:2", followerReplicas: "1:6,4:5,0:3,1:7"},
		"u": {leaderReplicas: "0:1,0:2", followerReplicas: ""},
	}
	for _, id := range []string{"1", "2", "3", "5", "6", "7"} {
		want[id] = map[string]string{leaderRate: "500", followerRate: "500"}
	}
	if !reflect.DeepEqual(c.configs, want) {
		t.Errorf("set were %v, want %v", c.configs, want)
	}

	found, err := Throttled(context.Background(), c, []string{"v", "u", "t"})
	if err != nil || !slices.Equal(found, []string{"t", "u"}) {
		t.Errorf("throttled are %v, %v; want t and u", found, err)
	}
	if err := Unthrottle(context.Background(), c, found, []int32{1, 2, 3, 5, 6, 7}); err != nil {
		t.Fatal(err)
	}
	for name := range maps.Keys(want) {
		for key, value := range c.configs[name] {
			if value != "" {
				t.Errorf("%s of %s is %q afterwards", key, name, value)
			}
		}
	}
}

// A refusal names what was refused, and the rest is done.
func TestThrottleThatIsRefused(t *testing.T) {
	c := &fakeCluster{brokers: []int32{1, 2}, refused: "2"}
	err := Throttle(context.Background(), c, []Move{{"t", 0, []int32{1}, []int32{2}}}, 500)
	if !errors.Is(err, kerr.ClusterAuthorizationFailed) || err.Error()[:len("throttle of broker 2: ")] != "throttle of broker 2: " {
		t.Errorf("got %v", err)
	}
	if c.configs["1"][leaderRate] != "500" || c.configs["t"][followerReplicas] != "0:2" {
		t.Errorf("set were %v", c.configs)
	}
}

// A broker that is gone, which is why most things move, gets no rate: it could not be
// told.
func TestThrottleWithoutTheDead(t *testing.T) {
	c := &fakeCluster{brokers: []int32{1, 3}, refused: "2"}
	if err := Throttle(context.Background(), c, []Move{{"t", 0, []int32{1, 2}, []int32{1, 3}}}, 500); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{"t": {leaderReplicas: "0:1,0:2", followerReplicas: "0:3"}}
	for _, id := range []string{"1", "3"} {
		want[id] = map[string]string{leaderRate: "500", followerRate: "500"}
	}
	if !reflect.DeepEqual(c.configs, want) {
		t.Errorf("set were %v, want %v", c.configs, want)
	}
}

// Each replica is named once, also when a topic has tens of thousands.
func TestThrottleOfManyReplicas(t *testing.T) {
	const many = 20_000
	var moves []Move
	for n := range int32(many) {
		moves = append(moves, Move{"t", n, []int32{1, 2}, []int32{2, 3}}, Move{"t", n, []int32{1, 2}, []int32{2, 3}})
	}
	got := throttle(moves, nil)
	if n, m := len(got.leaders.texts["t"]), len(got.followers.texts["t"]); n != 2*many || m != many {
		t.Errorf("%d that send and %d that fetch are held back, want %d and %d", n, m, 2*many, many)
	}
}

// All that moves is listed, in order, whoever asked for it.
func TestListIsOfAllTopics(t *testing.T) {
	c := &fakeCluster{pending: []kmsg.ListPartitionReassignmentsResponseTopic{
		{Topic: "b", Partitions: []kmsg.ListPartitionReassignmentsResponseTopicPartition{{Partition: 1}, {Partition: 0}}},
		{Topic: "a", Partitions: []kmsg.ListPartitionReassignmentsResponseTopicPartition{{Partition: 2}}}}}
	pending, err := List(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range pending {
		names = append(names, fmt.Sprintf("%s-%d", p.Topic, p.Partition))
	}
	if !slices.Equal(names, []string{"a-2", "b-0", "b-1"}) {
		t.Errorf("listed are %v", names)
	}
	if n := among([]Move{{Topic: "b", Partition: 1}, {Topic: "b", Partition: 3}}, pending); n != 1 {
		t.Errorf("%d of the moves are under way, want 1", n)
	}
}
