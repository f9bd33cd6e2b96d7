package group

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/kafka"
)

// counter makes member ids that a test can foretell.
func counter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("u%d", n) }
}

// counters make ids that a test can foretell.
func counters() IDs { return IDs{UUID: counter(), Member: counter()} }

// ruled are the rules of tests.
func ruled() Config {
	return Config{MaxSize: 100, InitialDelayMS: 3000, RetentionMS: 1000_000, CheckIntervalMS: 600_000, MetadataMaxChars: 4096}
}

// assignors are those that there are.
var assignors = consumergroup.Assignors()

// ruledConsumers are the rules of tests for groups of the consumer protocol.
func ruledConsumers(string) consumergroup.Rules {
	return consumergroup.Rules{MaxSize: 100, ClassicMaxSize: 100, Assignors: assignors, RegexRefreshMS: 600_000,
		SessionMS: 45_000, HeartbeatMS: 5000, Migration: consumergroup.Migration{Upgrade: true, Downgrade: true}}
}

// TestPartitionIsJavas compares with String.hashCode of a JVM.
func TestPartitionIsJavas(t *testing.T) {
	for _, c := range []struct {
		group string
		want  int32
	}{{"", 0}, {"a", 47}, {"group", 98629247 % 50}, {"polygenelubricants", 0 /* hashCode is MIN_VALUE */}, {"é", 233 % 50}} {
		if got := Partition(c.group, 50); got != c.want {
			t.Errorf("Partition(%q) is %d, want %d", c.group, got, c.want)
		}
	}
}

// TestSubscriptionNeverPanics cuts a consumer's metadata at every byte.
func TestSubscriptionNeverPanics(t *testing.T) {
	m := kmsg.ConsumerMemberMetadata{Version: 0, Topics: []string{"alpha", "beta"}}
	b := m.AppendTo(nil)
	topics := map[string]struct{}{}
	if !subscription(b, topics) || len(topics) != 2 {
		t.Fatalf("got %v", topics)
	}
	for n := range 2 + 4 + 2 + 5 + 2 + 4 {
		if subscription(b[:n], map[string]struct{}{}) {
			t.Errorf("%d of %d bytes were enough", n, len(b))
		}
	}
	if subscription([]byte{0, 0, 0x7f, 0xff, 0xff, 0xff}, topics) {
		t.Error("two thousand million topics in no bytes")
	}
}

// TestPendingMembersAreBounded asks for member ids and never comes back: after a
// while there are no more, and after the session timeout there are again.
func TestPendingMembersAreBounded(t *testing.T) {
	s := New(ruled(), ruledConsumers, counters())
	ask := func(now int64) kafka.ErrorCode {
		q := &kmsg.JoinGroupRequest{Group: "g", SessionTimeoutMillis: 10_000, ProtocolType: "consumer", Protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range"}}}
		out := s.Join(now, Caller{Version: 9}, q)
		out = s.Appended(now, out, kafka.None)
		return kafka.ErrorCode(out.Replies[0].Message.(*kmsg.JoinGroupResponse).ErrorCode)
	}
	for range pendingMax {
		if code := ask(0); code != kafka.ErrMemberIDRequired {
			t.Fatal(code)
		}
	}
	if code := ask(0); code != kafka.ErrGroupMaxSizeReached {
		t.Errorf("one more: %s, want GROUP_MAX_SIZE_REACHED", code)
	}
	for {
		if _, ok := s.Expire(10_000); !ok {
			break
		}
	}
	if code := ask(10_000); code != kafka.ErrMemberIDRequired {
		t.Errorf("after the timeout: %s, want MEMBER_ID_REQUIRED", code)
	}
}
