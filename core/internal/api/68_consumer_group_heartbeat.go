package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/internal/security"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// ConsumerGroupHeartbeat (key 68), versions 0–1.
//
// Behaviour: KIP-848, in room group. Epoch 0 joins, -1 leaves, -2 lets a static member
// leave for a while. Version 1 has expressions in place of names, and the client makes
// the member's id.

// consumerGroupHeartbeat answers key 68.
func (a *API) consumerGroupHeartbeat(r *wire.Request) {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	t := &ticket{a: a, r: r}
	refuse := func(code kafka.ErrorCode, message *string) {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.ErrorCode, resp.ErrorMessage = int16(code), message
		t.Answer(resp)
	}
	if code := a.mayHeartbeat(r, q); code != kafka.None {
		refuse(code, nil)
		return
	}
	if err := checkHeartbeat(q, a.broker(a.image()).Groups.Assignors); err != nil {
		refuse(err.Code, &err.Message)
		return
	}
	by := caller(r)
	by.Ticket, by.May = t, a.permission(r)
	a.coordinate(q.Group, func(s *group.State, now int64) group.Output {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		if s.ConsumerBeat(now, &by, q, resp) {
			return reading(t, resp)
		}
		return s.ConsumerHeartbeat(now, by, q)
	}, func(code kafka.ErrorCode) { refuse(code, nil) })
}

// mayHeartbeat asks whether the cluster has the protocol, and for permission: on the
// group, and on the topics that are named.
func (a *API) mayHeartbeat(r *wire.Request, q *kmsg.ConsumerGroupHeartbeatRequest) kafka.ErrorCode {
	if !hasConsumerProtocol(a.image()) {
		return kafka.ErrUnsupportedVersion
	}
	if !a.authorize(r, OpRead, ResourceGroup, q.Group) {
		return kafka.ErrGroupAuthorizationFailed
	}
	if may := a.authorizeAll(r, OpDescribe, ResourceTopic, slices.Values(q.SubscribedTopicNames)); slices.ContainsFunc(q.SubscribedTopicNames,
		func(name string) bool { return !may(name) }) {
		return kafka.ErrTopicAuthorizationFailed
	}
	return kafka.None
}

// hasConsumerProtocol reports whether the cluster has agreed on the consumer protocol
// (kafka-features.sh).
func hasConsumerProtocol(img *meta.Image) bool { return img.Features()[meta.GroupVersion] >= 1 }

// permission says which topics the sender of r may be told that they exist, also when r
// is gone; nil: all.
func (a *API) permission(r *wire.Request) consumergroup.Permission {
	if a.deps.Authorizer == nil {
		return nil
	}
	conn, key := r.Conn, r.Key
	return func(topics []string) (may []bool, known bool) {
		for _, answer := range a.deps.Authorizer.AllowedAll(conn, key, OpDescribe, ResourceTopic, topics) {
			if answer == security.Unknown {
				return nil, false
			}
			may = append(may, answer == security.Yes)
		}
		return may, true
	}
}

// checkHeartbeat finds what is wrong with a request by itself, in Kafka's order and
// words.
func checkHeartbeat(q *kmsg.ConsumerGroupHeartbeatRequest, assignors []string) *kafka.Error {
	invalid := kafka.ErrInvalidRequest.Err
	if q.Version >= 1 || q.MemberEpoch > 0 || q.MemberEpoch == consumergroup.LeaveEpoch {
		if blank(&q.MemberID) {
			return invalid("MemberId can't be empty.")
		}
	}
	switch {
	case blank(&q.Group):
		return invalid("GroupId can't be empty.")
	case blank(q.InstanceID):
		return invalid("InstanceId can't be empty.")
	case blank(q.RackID):
		return invalid("RackId can't be empty.")
	case len(q.Group) > nameBytesMax || len(q.MemberID) > nameBytesMax:
		return invalid(fmt.Sprintf("GroupId and MemberId can't be longer than %d bytes.", nameBytesMax))
	case q.MemberEpoch == 0 && q.RebalanceTimeoutMillis == -1:
		return invalid("RebalanceTimeoutMs must be provided in first request.")
	case q.MemberEpoch == 0 && (q.Topics == nil || len(q.Topics) > 0):
		return invalid("TopicPartitions must be empty when (re-)joining.")
	case q.MemberEpoch == 0 && q.SubscribedTopicNames == nil && q.SubscribedTopicRegex == nil:
		return invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
	case q.MemberEpoch == consumergroup.LeaveStaticEpoch && q.InstanceID == nil:
		return invalid("InstanceId can't be null.")
	case q.MemberEpoch < consumergroup.LeaveStaticEpoch:
		return invalid("MemberEpoch is invalid.")
	}
	if q.ServerAssignor == nil {
		return nil
	}
	for _, name := range assignors {
		if name == *q.ServerAssignor {
			return nil
		}
	}
	return kafka.ErrUnsupportedAssignor.Err(fmt.Sprintf("ServerAssignor %s is not supported. Supported assignors: %s.", *q.ServerAssignor, strings.Join(assignors, ", ")))
}

// blank reports whether a text is there and has nothing in it.
func blank(s *string) bool { return s != nil && strings.TrimSpace(*s) == "" }
