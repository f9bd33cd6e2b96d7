package group

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
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
