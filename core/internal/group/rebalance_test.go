package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestNoRebalanceTimeout has static members that were replaced by some that give no
// time to join again. One of them leaves: the other is waited for, but not by looking
// again without a pause, which would hold up every group of the partition.
func TestNoRebalanceTimeout(t *testing.T) {
	for _, timeout := range []int32{0, -1} {
		s := New(ruled(), ruledConsumers, counters())
		join := func(now int64, instance string, rebalanceMS int32) {
			q := kmsg.NewPtrJoinGroupRequest()
			q.Group, q.InstanceID, q.ProtocolType = "g", &instance, "consumer"
			q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = 10_000, rebalanceMS
			q.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
			s.Appended(now, s.Join(now, Caller{Version: 9, Ticket: nobody{}}, q), kafka.None)
		}
		join(0, "a", 60_000)
		join(0, "b", 60_000)
		expireAll(t, s, 3000, kafka.None)
		expireAll(t, s, 6000, kafka.None)
		g := s.groups["g"]
		for _, m := range g.order {
			q := &kmsg.SyncGroupRequest{Group: "g", MemberID: m.id, InstanceID: m.instance, Generation: g.generation}
			s.Appended(6000, s.Sync(6000, Caller{Version: 5, Ticket: nobody{}}, q), kafka.None)
		}
		join(6000, "a", timeout)
		join(6000, "b", timeout)
		if g.phase != Stable {
			t.Fatalf("the group is %s, want Stable", g.phase)
		}
		b := "b"
		s.Leave(6000, nobody{}, &kmsg.LeaveGroupRequest{Group: "g", Members: []kmsg.LeaveGroupRequestMember{{InstanceID: &b}}})
		expireAll(t, s, 6000, kafka.None)
		for now := int64(6000); now <= 20_000; now += 100 {
			expireAll(t, s, now, kafka.None)
		}
		if g.phase != Empty {
			t.Errorf("after the session of the last member the group is %s, want Empty", g.phase)
		}
	}
}

// nobody is a Ticket whose answer does not matter.
type nobody struct{}

// Answer implements Ticket.
func (nobody) Answer(kmsg.Response) {}
