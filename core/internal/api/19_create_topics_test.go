package api_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/api"
	"github.com/mortisemq/mortise/core/kafka"
)

// createTopics asks for topics with the newest version.
func createTopics(rig *adminRig, only bool, topics ...kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopic {
	rig.t.Helper()
	q := kmsg.NewPtrCreateTopicsRequest()
	q.Topics, q.TimeoutMillis, q.ValidateOnly = topics, 30000, only
	return ask[*kmsg.CreateTopicsResponse](rig, 7, q).Topics
}

// createTopic is createTopics for one.
func createTopic(rig *adminRig, topic kmsg.CreateTopicsRequestTopic) kmsg.CreateTopicsResponseTopic {
	rig.t.Helper()
	return createTopics(rig, false, topic)[0]
}

// TestMETA07 asks for impossible topics, for real and for validation only: each has
// its error, and nothing is made.
func TestMETA07(t *testing.T) {
	rig := newAdminRig(t, adminOptions{})
	topic := func(partitions int32, factor int16) kmsg.CreateTopicsRequestTopic {
		return kmsg.CreateTopicsRequestTopic{Topic: "t", NumPartitions: partitions, ReplicationFactor: factor}
	}
	both := topic(1, 1)
	both.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: []int32{1}}}
	for _, c := range []struct {
		topics []kmsg.CreateTopicsRequestTopic
		want   kafka.ErrorCode
	}{
		{[]kmsg.CreateTopicsRequestTopic{topic(0, 1)}, kafka.ErrInvalidPartitions},
		{[]kmsg.CreateTopicsRequestTopic{topic(-2, 1)}, kafka.ErrInvalidPartitions},
		{[]kmsg.CreateTopicsRequestTopic{topic(2_000_000, 1)}, kafka.ErrPolicyViolation},
		{[]kmsg.CreateTopicsRequestTopic{topic(1, 2)}, kafka.ErrInvalidReplicationFactor},
		{[]kmsg.CreateTopicsRequestTopic{both}, kafka.ErrInvalidRequest},
		{[]kmsg.CreateTopicsRequestTopic{topic(1, 1), topic(1, 1)}, kafka.ErrInvalidRequest},
	} {
		for _, only := range []bool{true, false} {
			got := createTopics(rig, only, c.topics...)
			if len(got) != 1 || kafka.ErrorCode(got[0].ErrorCode) != c.want {
				t.Errorf("%+v, validate only %t: got %+v, want %v", c.topics, only, got, c.want)
			}
		}
	}
	if rig.exists("t") {
		t.Error("a topic was made")
	}
}

// TestHugeCountsCostNothing: what a client asks for sizes no allocation.
func TestHugeCountsCostNothing(t *testing.T) {
	rig := newAdminRig(t, adminOptions{static: config.Static{"mortise.max.partitions.per.request": "100000000", "mortise.max.partitions.per.node": "1000"}}, "t")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := createTopic(rig, kmsg.CreateTopicsRequestTopic{Topic: "big", NumPartitions: 2_000_000, ReplicationFactor: 1})
	q := kmsg.NewPtrCreatePartitionsRequest()
	q.TimeoutMillis, q.Topics = 30000, []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 2_000_000}}
	grown := ask[*kmsg.CreatePartitionsResponse](rig, 3, q).Topics[0]
	runtime.ReadMemStats(&after)
	if kafka.ErrorCode(got.ErrorCode) != kafka.ErrPolicyViolation || kafka.ErrorCode(grown.ErrorCode) != kafka.ErrPolicyViolation {
		t.Errorf("got %v and %v, want POLICY_VIOLATION", kafka.ErrorCode(got.ErrorCode), kafka.ErrorCode(grown.ErrorCode))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("the refusals allocated %d bytes", used)
	}
}

// TestMETA08 refuses partitions that the open-file limit does not carry, and says
// which limit that is.
func TestMETA08(t *testing.T) {
	rig := newAdminRig(t, adminOptions{openFiles: 100}, "a:1999")
	one := kmsg.CreateTopicsRequestTopic{Topic: "b", NumPartitions: 2, ReplicationFactor: 1}
	got := createTopic(rig, one)
	if kafka.ErrorCode(got.ErrorCode) != kafka.ErrPolicyViolation || !strings.Contains(text(got.ErrorMessage), "ulimit -n") ||
		!strings.Contains(text(got.ErrorMessage), "100") {
		t.Errorf("got %v %q, want a refusal that names the limit", kafka.ErrorCode(got.ErrorCode), text(got.ErrorMessage))
	}
	one.NumPartitions = 1
	if got := createTopic(rig, one); got.ErrorCode != 0 {
		t.Errorf("the last partition that there is room for: %v", kafka.ErrorCode(got.ErrorCode))
	}
	limited := newAdminRig(t, adminOptions{static: config.Static{"mortise.max.partitions.per.node": "3"}})
	made := createTopics(limited, false, kmsg.CreateTopicsRequestTopic{Topic: "x", NumPartitions: 2, ReplicationFactor: 1},
		kmsg.CreateTopicsRequestTopic{Topic: "y", NumPartitions: 2, ReplicationFactor: 1})
	if len(made) != 2 || !limited.exists("x") || limited.exists("y") {
		t.Errorf("got %+v: want x made and y refused, together they are too many", made)
	}
}

// TestCreateTopicTimesOut: an answer comes in time when the cluster does not.
func TestCreateTopicTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rig := newAdminRig(t, adminOptions{})
		rig.control.gate = make(chan struct{})
		q := kmsg.NewPtrCreateTopicsRequest()
		q.Topics, q.TimeoutMillis = []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: 1, ReplicationFactor: 1}}, 1500
		begin := time.Now()
		got := ask[*kmsg.CreateTopicsResponse](rig, 7, q).Topics[0]
		if kafka.ErrorCode(got.ErrorCode) != kafka.ErrRequestTimedOut || time.Since(begin) != 1500*time.Millisecond {
			t.Errorf("got %v after %v, want REQUEST_TIMED_OUT after 1.5s", kafka.ErrorCode(got.ErrorCode), time.Since(begin))
		}
		close(rig.control.gate)
	})
}

// TestCreateTopicAnswers: counts and configs from version 5 on, unless the client
// may not read configs.
func TestCreateTopicAnswers(t *testing.T) {
	rig := newAdminRig(t, adminOptions{static: config.Static{"num.partitions": "4"}})
	got := createTopic(rig, kmsg.CreateTopicsRequestTopic{Topic: "a", NumPartitions: -1, ReplicationFactor: -1})
	shown := 0 // without those that are described only where they are set
	for _, k := range config.TopicKeys() {
		if !k.WhenSet {
			shown++
		}
	}
	if got.NumPartitions != 4 || got.ReplicationFactor != 1 || len(got.Configs) != shown || got.TopicID == kafka.NoTopicID {
		t.Errorf("got %+v", got)
	}
	blind := newAdminRig(t, adminOptions{authorizer: denying{api.OpDescribeConfigs: true}})
	got = createTopic(blind, kmsg.CreateTopicsRequestTopic{Topic: "a", NumPartitions: 1, ReplicationFactor: 1})
	if got.ErrorCode != 0 || got.NumPartitions != -1 || len(got.Configs) != 0 || kafka.ErrorCode(got.ConfigErrorCode) != kafka.ErrTopicAuthorizationFailed {
		t.Errorf("without the right to see configs: %+v", got)
	}
}

// TestMETA06 refuses names that metric names can't tell apart.
func TestMETA06(t *testing.T) {
	rig := newAdminRig(t, adminOptions{}, "a.b")
	got := createTopic(rig, kmsg.CreateTopicsRequestTopic{Topic: "a_b", NumPartitions: 1, ReplicationFactor: 1})
	if want := "Topic 'a_b' collides with existing topic: a.b"; kafka.ErrorCode(got.ErrorCode) != kafka.ErrInvalidTopic || text(got.ErrorMessage) != want {
		t.Errorf("got %v %q, want %q", kafka.ErrorCode(got.ErrorCode), text(got.ErrorMessage), want)
	}
}

// TestPipelinedAdminRequests: create, delete and create again, sent without waiting,
// happen in that order.
func TestPipelinedAdminRequests(t *testing.T) {
	rig := newAdminRig(t, adminOptions{})
	for n := range 20 {
		name := fmt.Sprintf("t%d", n)
		create := kmsg.NewPtrCreateTopicsRequest()
		create.SetVersion(7)
		create.Topics, create.TimeoutMillis = []kmsg.CreateTopicsRequestTopic{{Topic: name, NumPartitions: 1, ReplicationFactor: 1}}, 30000
		remove := kmsg.NewPtrDeleteTopicsRequest()
		remove.SetVersion(6)
		remove.Topics, remove.TimeoutMillis = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}, 30000
		first, second := rig.send(create), rig.send(remove)
		made, gone := create.ResponseKind().(*kmsg.CreateTopicsResponse), remove.ResponseKind().(*kmsg.DeleteTopicsResponse)
		if err := first.Message(made); err != nil || made.Topics[0].ErrorCode != 0 {
			t.Fatal(err, made.Topics)
		}
		if err := second.Message(gone); err != nil || gone.Topics[0].ErrorCode != 0 {
			t.Fatalf("%v: delete after create says %v", err, kafka.ErrorCode(gone.Topics[0].ErrorCode))
		}
	}
}
