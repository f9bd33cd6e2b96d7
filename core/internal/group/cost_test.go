package group

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// crowded is a State with stable groups of three members each.
func crowded(t testing.TB, groups int) (*State, []kmsg.HeartbeatRequest) {
	s := New(ruled(), ruledConsumers, counters())
	s.Loaded(0)
	var beats []kmsg.HeartbeatRequest
	for g := range groups {
		v := &kmsg.GroupMetadataValue{Version: 3, ProtocolType: "consumer", Protocol: kmsg.StringPtr("range"), Generation: 1}
		id := fmt.Sprint("group-", g)
		for m := range 3 {
			name := fmt.Sprint("member-", m)
			v.Members = append(v.Members, kmsg.GroupMetadataValueMember{MemberID: name, SessionTimeoutMillis: 45_000, RebalanceTimeoutMillis: 60_000})
			beats = append(beats, kmsg.HeartbeatRequest{Group: id, MemberID: name, Generation: 1})
		}
		v.Leader = &v.Members[0].MemberID
		if err := s.Replay(groupKey(id), v.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
	}
	s.Loaded(0)
	return s, beats
}

// TestHeartbeatAllocatesNothing holds the cost that the package promises: 15,000
// members are heard of every three seconds.
func TestHeartbeatAllocatesNothing(t *testing.T) {
	s, beats := crowded(t, 100)
	now, i := int64(0), 0
	if n := testing.AllocsPerRun(1000, func() {
		now, i = now+1, i+1
		if code := s.Heartbeat(now, &beats[i%len(beats)]); code != 0 {
			t.Fatal(code)
		}
	}); n != 0 {
		t.Errorf("a heartbeat allocates %v times", n)
	}
}

// BenchmarkHeartbeat is one heartbeat among 15,000 members, with the deadlines that
// come due meanwhile.
func BenchmarkHeartbeat(b *testing.B) {
	s, beats := crowded(b, 5000)
	var now int64
	for i := 0; b.Loop(); i++ {
		if i%5 == 0 {
			now++ // 5,000 a second
		}
		s.Heartbeat(now, &beats[i%len(beats)])
		if at, ok := s.Next(); ok && at <= now {
			s.Expire(now)
		}
	}
}

// crowdedConsumers is a State with groups of three members of the consumer protocol,
// who have what they are to have.
func crowdedConsumers(t testing.TB, groups int) (*State, []kmsg.ConsumerGroupHeartbeatRequest) {
	s := New(ruled(), ruledConsumers, counters())
	e := meta.Empty("c").Edit(1)
	e.PutTopic(&meta.Topic{Name: "t", ID: kafka.TopicID{1}, Partitions: make([]meta.Partition, 6)})
	s.SetImage(e.Image(), func() bool { return true })
	s.Loaded(0)
	epochs := map[string]int32{}
	beat := func(q *kmsg.ConsumerGroupHeartbeatRequest) {
		out := s.Appended(0, s.ConsumerHeartbeat(0, Caller{}, q), kafka.None)
		r := out.Replies[0].Message.(*kmsg.ConsumerGroupHeartbeatResponse)
		if r.ErrorCode != 0 {
			t.Fatal(kafka.ErrorCode(r.ErrorCode))
		}
		epochs[q.Group+q.MemberID] = r.MemberEpoch
	}
	var beats []kmsg.ConsumerGroupHeartbeatRequest
	for g := range groups {
		for m := range 3 {
			q := kmsg.ConsumerGroupHeartbeatRequest{Group: fmt.Sprint("group-", g), MemberID: fmt.Sprint("member-", m), RebalanceTimeoutMillis: 1000,
				SubscribedTopicNames: []string{"t"}, Topics: []kmsg.ConsumerGroupHeartbeatRequestTopic{}}
			beat(&q)
			q.RebalanceTimeoutMillis, q.SubscribedTopicNames = -1, nil
			beats = append(beats, q)
		}
		for range 3 { // everybody gives up what is not theirs any more
			for i := range 3 {
				q := beats[len(beats)-3+i]
				q.MemberEpoch = epochs[q.Group+q.MemberID]
				beat(&q)
			}
		}
	}
	for i := range beats {
		beats[i].MemberEpoch, beats[i].Topics = epochs[beats[i].Group+beats[i].MemberID], nil
	}
	return s, beats
}

// TestConsumerHeartbeatAllocatesNothing holds the cost of a member that stays.
func TestConsumerHeartbeatAllocatesNothing(t *testing.T) {
	s, beats := crowdedConsumers(t, 20)
	now, i := int64(0), 0
	var by Caller
	var r kmsg.ConsumerGroupHeartbeatResponse
	if n := testing.AllocsPerRun(1000, func() {
		now, i = now+1, i+1
		if !s.ConsumerBeat(now, &by, &beats[i%len(beats)], &r) {
			t.Fatal("the short way was not taken")
		}
	}); n != 0 {
		t.Errorf("a heartbeat allocates %v times", n)
	}
}

// BenchmarkConsumerHeartbeat is one heartbeat among 15,000 members, with the deadlines
// that come due meanwhile.
func BenchmarkConsumerHeartbeat(b *testing.B) {
	s, beats := crowdedConsumers(b, 5000)
	var now int64
	var by Caller
	var r kmsg.ConsumerGroupHeartbeatResponse
	for i := 0; b.Loop(); i++ {
		if i%5 == 0 {
			now++ // 5,000 a second
		}
		if !s.ConsumerBeat(now, &by, &beats[i%len(beats)], &r) {
			b.Fatal("the short way was not taken")
		}
		if at, ok := s.Next(); ok && at <= now {
			s.Expire(now)
		}
	}
}
