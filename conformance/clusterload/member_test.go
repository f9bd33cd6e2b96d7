package clusterload_test

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// groupsTried bounds the names until one has its coordinator on a certain node.
const groupsTried = 1000

// member is the one member of a group of the classic protocol. It finds its coordinator
// as clients do, but never joins again: what it has is to outlive its coordinator.
type member struct {
	w          *world
	client     *kgo.Client
	group, id  string
	generation int32
}

// joined makes a member of a group whose coordinator is a certain node, with an
// assignment and a commit of a topic.
func (w *world) joined(coordinator int32, topic string) *member {
	w.t.Helper()
	m := &member{w: w, client: w.client(kgo.MaxVersions(kversion.V4_0_0()))} // commits name topics
	w.until("a group of that coordinator", func(ctx context.Context) bool {
		m.group = w.groupOf(ctx, coordinator)
		return m.group != ""
	})
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	q := kmsg.NewPtrJoinGroupRequest()
	q.Group, q.ProtocolType, q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = m.group, "consumer", 30_000, 30_000
	q.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	r, err := q.RequestWith(ctx, m.client)
	w.must(err)
	if q.MemberID = r.MemberID; r.ErrorCode == kerr.MemberIDRequired.Code {
		r, err = q.RequestWith(ctx, m.client)
		w.must(err)
	}
	w.must(kerr.ErrorForCode(r.ErrorCode))
	m.id, m.generation = r.MemberID, r.Generation
	s := kmsg.NewPtrSyncGroupRequest()
	s.Group, s.MemberID, s.Generation = m.group, m.id, m.generation
	s.ProtocolType, s.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	s.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: m.id, MemberAssignment: []byte("all")}}
	given, err := s.RequestWith(ctx, m.client)
	w.must(err)
	w.must(kerr.ErrorForCode(given.ErrorCode))
	w.must(m.commit(ctx, topic))
	return m
}

// groupOf is the name of a group that a node coordinates; empty: none was found.
func (w *world) groupOf(ctx context.Context, coordinator int32) string {
	names := make([]string, groupsTried)
	for i := range names {
		names[i] = fmt.Sprint("group-", i)
	}
	for name, found := range w.admin.FindGroupCoordinators(ctx, names...) {
		if found.Err == nil && found.NodeID == coordinator {
			return name
		}
	}
	return ""
}

// commit commits an offset as the member.
func (m *member) commit(ctx context.Context, topic string) error {
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Group, q.MemberID, q.Generation = m.group, m.id, m.generation
	q.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{LeaderEpoch: -1}}}}
	r, err := q.RequestWith(ctx, m.client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(r.Topics[0].Partitions[0].ErrorCode)
}

// heartbeat says that the member is there.
func (m *member) heartbeat(ctx context.Context) error {
	q := kmsg.NewPtrHeartbeatRequest()
	q.Group, q.MemberID, q.Generation = m.group, m.id, m.generation
	r, err := q.RequestWith(ctx, m.client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(r.ErrorCode)
}

// goesOn waits until a commit and a heartbeat are taken, and gives how long that took
// since a moment. That somebody does not know the member, or its generation, ends the
// test.
func (m *member) goesOn(topic string, since time.Time) time.Duration {
	m.w.t.Helper()
	for _, ask := range []func(context.Context) error{func(ctx context.Context) error { return m.commit(ctx, topic) }, m.heartbeat} {
		m.w.until("answered by a coordinator", func(ctx context.Context) bool {
			err := ask(ctx)
			if known, is := err.(*kerr.Error); is && !known.Retriable {
				m.w.t.Fatalf("group %s after its coordinator was lost: %v", m.group, err)
			}
			return err == nil
		})
	}
	return time.Since(since)
}
