package api_test

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/api"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// lateControl shows an old image until it is asked to refresh.
type lateControl struct {
	meta.Control
	old  *meta.Image // nil: the newest is shown
	fail error       // of Refresh
}

func (c *lateControl) Image() *meta.Image {
	if c.old != nil {
		return c.old
	}
	return c.Control.Image()
}

func (c *lateControl) Refresh(context.Context) error {
	if c.fail == nil {
		c.old = nil
	}
	return c.fail
}

// lateRig is a rig whose broker has not heard yet that the topic gone was deleted, and
// that t was made.
func lateRig(t *testing.T, fail error) *adminRig {
	t.Helper()
	rig := newAdminRig(t, adminOptions{}, "gone:1")
	rig.api.Close()
	control := &lateControl{Control: rig.control, old: rig.control.Image(), fail: fail}
	gone, _ := control.old.Topic("gone")
	if errs, err := rig.control.DeleteTopics(t.Context(), []kafka.TopicID{gone.ID}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	made, err := rig.control.CreateTopics(t.Context(), []meta.NewTopic{{Name: "t", PartitionCount: 1, ReplicationFactor: 1}}, false)
	if err != nil || made[0].Err != nil {
		t.Fatal(made, err)
	}
	resolver := config.NewResolver(nil).For(self)
	rig.api = api.New(api.Deps{Self: self, Control: control, Config: func() *config.Resolver { return resolver }})
	t.Cleanup(rig.api.Close)
	return rig
}

// TestWhatAnotherBrokerAnsweredIsKnown: what changes the cluster finds what was done
// through another broker a moment ago, as it does where the controller decides.
func TestWhatAnotherBrokerAnsweredIsKnown(t *testing.T) {
	const timeout = 10_000
	value := "5"
	for _, c := range []struct {
		does      string
		want, old kafka.ErrorCode
		ask       func(rig *adminRig) int16
	}{
		{"CreateTopics", kafka.None, kafka.ErrTopicAlreadyExists, func(rig *adminRig) int16 {
			q := kmsg.NewPtrCreateTopicsRequest()
			q.TimeoutMillis, q.Topics = timeout, []kmsg.CreateTopicsRequestTopic{{Topic: "gone", NumPartitions: 1, ReplicationFactor: 1}}
			return ask[*kmsg.CreateTopicsResponse](rig, 7, q).Topics[0].ErrorCode
		}},
		{"DeleteTopics", kafka.None, kafka.ErrUnknownTopicOrPartition, func(rig *adminRig) int16 {
			q := kmsg.NewPtrDeleteTopicsRequest()
			q.TimeoutMillis, q.Topics = timeout, []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr("t")}}
			return ask[*kmsg.DeleteTopicsResponse](rig, 6, q).Topics[0].ErrorCode
		}},
		{"AlterConfigs", kafka.None, kafka.ErrUnknownTopicOrPartition, func(rig *adminRig) int16 {
			q := kmsg.NewPtrAlterConfigsRequest()
			q.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t",
				Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: &value}}}}
			return ask[*kmsg.AlterConfigsResponse](rig, 2, q).Resources[0].ErrorCode
		}},
		{"CreatePartitions", kafka.None, kafka.ErrUnknownTopicOrPartition, func(rig *adminRig) int16 {
			q := kmsg.NewPtrCreatePartitionsRequest()
			q.TimeoutMillis, q.Topics = timeout, []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 2}}
			return ask[*kmsg.CreatePartitionsResponse](rig, 3, q).Topics[0].ErrorCode
		}},
		{"ElectLeaders", kafka.ErrElectionNotNeeded, kafka.ErrUnknownTopicOrPartition, func(rig *adminRig) int16 {
			q := kmsg.NewPtrElectLeadersRequest()
			q.TimeoutMillis, q.Topics = timeout, []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0}}}
			return ask[*kmsg.ElectLeadersResponse](rig, 2, q).Topics[0].Partitions[0].ErrorCode
		}},
		{"IncrementalAlterConfigs", kafka.None, kafka.ErrUnknownTopicOrPartition, func(rig *adminRig) int16 {
			return int16(setConfig(rig, 2, "t", "retention.ms", value))
		}},
		{"AlterPartitionReassignments", kafka.None, kafka.ErrUnknownTopicOrPartition, func(rig *adminRig) int16 {
			q := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			q.TimeoutMillis, q.Topics = timeout, []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "t",
				Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: []int32{int32(self)}}}}}
			return ask[*kmsg.AlterPartitionAssignmentsResponse](rig, 1, q).Topics[0].Partitions[0].ErrorCode
		}},
	} {
		if got := kafka.ErrorCode(c.ask(lateRig(t, nil))); got != c.want {
			t.Errorf("%s: %s, want %s", c.does, got, c.want)
		}
		if got := kafka.ErrorCode(c.ask(lateRig(t, errors.New("nobody leads")))); got != c.old {
			t.Errorf("%s without a leader: %s, want %s", c.does, got, c.old)
		}
	}
}
