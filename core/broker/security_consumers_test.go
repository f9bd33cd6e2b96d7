package broker_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestConsumersSeeWhatTheyMay joins groups of the consumer protocol: a member has to
// have the group, may name only topics that it may describe, and an expression stands
// for those alone.
func TestConsumersSeeWhatTheyMay(t *testing.T) {
	b, _, _ := guarded(t)
	admin := kadm.NewClient(b.Client(as("admin", "a")...))
	if _, err := admin.CreateTopics(t.Context(), 1, 1, nil, "orders", "secret"); err != nil {
		t.Fatal(err)
	}
	for _, err := admin.FetchOffsets(t.Context(), "g"); err != nil && t.Context().Err() == nil; _, err = admin.FetchOffsets(t.Context(), "g") {
		// The first question has the coordinator made.
	}
	for _, rule := range []*kadm.ACLBuilder{
		kadm.NewACLs().Groups("g").Operations(kadm.OpRead),
		kadm.NewACLs().Topics("orders").Operations(kadm.OpDescribe),
	} {
		if _, err := admin.CreateACLs(t.Context(), rule.Allow("User:alice").AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral)); err != nil {
			t.Fatal(err)
		}
	}
	alice := b.Client(as("alice", "secret")...)
	join := func(group string, names []string, regex *string) *kmsg.ConsumerGroupHeartbeatResponse {
		q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		q.Group, q.MemberID, q.RebalanceTimeoutMillis, q.SubscribedTopicNames, q.SubscribedTopicRegex = group, "m", 10_000, names, regex
		q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		return beat(t, alice, q)
	}
	if r := join("g", []string{"orders", "secret"}, nil); kafka.ErrorCode(r.ErrorCode) != kafka.ErrTopicAuthorizationFailed {
		t.Errorf("a topic that it may not know: %s", kafka.ErrorCode(r.ErrorCode))
	}
	if r := join("h", []string{"orders"}, nil); kafka.ErrorCode(r.ErrorCode) != kafka.ErrGroupAuthorizationFailed {
		t.Errorf("a group that it may not use: %s", kafka.ErrorCode(r.ErrorCode))
	}
	all := "[^_].*"
	r := join("g", nil, &all)
	stay := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	stay.Group, stay.MemberID = "g", "m"
	for stay.MemberEpoch = r.MemberEpoch; r.MemberEpoch == stay.MemberEpoch && t.Context().Err() == nil; {
		r = beat(t, alice, stay)
	}
	if r.Assignment == nil || len(r.Assignment.Topics) != 1 {
		t.Errorf("the expression gave it %+v, want the one topic that it may know", r.Assignment)
	}
}

// beat sends a heartbeat.
func beat(t *testing.T, c *kgo.Client, q *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
	t.Helper()
	r, err := c.Broker(1).Request(t.Context(), q) // no look-up of the coordinator, which asks for permission too
	if err != nil {
		t.Fatal(err)
	}
	return r.(*kmsg.ConsumerGroupHeartbeatResponse)
}
