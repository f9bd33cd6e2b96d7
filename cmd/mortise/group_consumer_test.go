package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// liveConsumer runs a member of a consumer group of KIP-848 until it has read n records
// and committed them, and keeps it there until the test ends.
func liveConsumer(t *testing.T, at, group, topic string, n int) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(at), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.ClientID("reader"), kgo.InstanceID("first"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for seen := 0; seen < n; {
		f := c.PollFetches(t.Context())
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		seen += f.NumRecords()
	}
	if err := c.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestConsumerGroupsAreDescribed holds that groups of KIP-848 are listed, described and
// refused by reset like classic ones, and show their epochs and assignor.
func TestConsumerGroupsAreDescribed(t *testing.T) {
	n, at := start(t)
	must(t, at, "", "topic", "create", "orders", "-p", "2")
	must(t, at, "a\nb\n", "produce", "orders", "-p", "0")
	commitAt(t, at, "old", "orders", 1)
	liveConsumer(t, at, "live", "orders", 2)
	must(t, at, "c\n", "produce", "orders", "-p", "0")
	if got := must(t, at, "", "group", "list", "--type", "consumer"); got != "NAME  STATE   TYPE      PROTOCOL\nlive  Stable  consumer  consumer\n" {
		t.Errorf("list:\n%s", got)
	}
	text := must(t, at, "", "group", "describe", "live")
	for _, want := range []string{"live  Stable  consumer protocol  assignor uniform  epoch ", "coordinator 1  lag 1\n", "SHALL HAVE", "orders:0,1  the same    consumer  ", "orders  0          2          3    1    "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	v := decode[[]groupView](t, must(t, at, "", "group", "describe", "live", "old", "-o", "json"))
	if len(v) != 2 || v[1].Type != "classic" || v[1].Epoch != -1 {
		t.Fatalf("%+v", v)
	}
	live := v[0]
	if live.Type != "consumer" || live.Epoch < 1 || live.AssignmentEpoch != live.Epoch || live.Protocol != "uniform" || live.Lag != 1 || len(live.Members) != 1 || len(live.Offsets) != 2 {
		t.Fatalf("%+v", live)
	}
	if m := live.Members[0]; m.ClientID != "reader" || m.Instance != "first" || m.Epoch != live.Epoch || m.Protocol != "consumer" || m.Assigned.String() != "orders:0,1" || m.Target != nil ||
		len(m.Subscribed) != 1 || live.Offsets[0].Member != m.ID {
		t.Errorf("%+v", m)
	}
	if got := must(t, at, "", "group", "lag"); got != "GROUP  TOPIC   PARTITIONS  LAG\nlive   orders  2           1\nold    orders  2           2\n" {
		t.Errorf("lag:\n%s", got)
	}
	r, err := http.Get("http://" + n.AdminAddr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if body, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(body), `mortise_group_lag_records{group="live",topic="orders"} 1`) {
		t.Errorf("no lag of the group on /metrics: %v", err)
	}
	fails(t, at, "", 1, "group live is Stable and has 1 members: stop them first", "group", "reset", "live", "--to-earliest", "--execute")
}

// TestEmptyConsumerGroupIsReset: what commands do to a group whose members have left is
// the same for both protocols.
func TestEmptyConsumerGroupIsReset(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders")
	must(t, at, "a\nb\n", "produce", "orders")
	c, err := kgo.NewClient(kgo.SeedBrokers(at), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 2; n += c.PollFetches(t.Context()).NumRecords() {
	}
	if err := c.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, line := range []struct{ line, want string }{
		{"group describe g", "g  Empty  consumer protocol  assignor "},
		{"group reset g --shift-by -1", "orders  0          2     1   \ng: nothing was changed"},
		{"group reset g --to-earliest --execute --partition 0", "orders  0          2     0   \ng: reset\n"},
		{"group lag g", "g      orders  1           2\n"},
		{"group delete g", "g: deleted\n"},
	} {
		if got := must(t, at, "", strings.Fields(line.line)...); !strings.Contains(got, line.want) {
			t.Errorf("mortise %s:\n%swant\n%s", line.line, got, line.want)
		}
	}
	fails(t, at, "", 1, "there is no such partition", "group", "reset", "g", "--topic", "orders", "--partition", "9", "--to-earliest")
}
