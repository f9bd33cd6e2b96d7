package group

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// counter makes member ids that a test can foretell.
func counter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("u%d", n) }
}

// ruled are the rules of tests.
func ruled() Config {
	return Config{MaxSize: 100, InitialDelayMS: 3000, RetentionMS: 1000_000, CheckIntervalMS: 600_000, MetadataMaxChars: 4096}
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
