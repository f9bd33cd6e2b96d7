package main

import (
	"context"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// commitAt makes a group of offsets only.
func commitAt(t *testing.T, at, name, topic string, offset int64) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(at))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var o kadm.Offsets
	o.AddOffset(topic, 0, offset, -1)
	if _, err := kadm.NewClient(c).CommitOffsets(context.Background(), name, o); err != nil {
		t.Fatal(err)
	}
}

func TestGroupsInText(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders")
	must(t, at, "a\nb\nc\nd\n", "produce", "orders")
	commitAt(t, at, "billing", "orders", 1)
	for _, c := range []struct{ line, want string }{
		{"group list", "NAME     STATE  TYPE     PROTOCOL\nbilling  Empty  classic  \n"},
		{"group list --state Stable", "NAME  STATE  TYPE  PROTOCOL\n"},
		{"group lag", "GROUP    TOPIC   PARTITIONS  LAG\nbilling  orders  1           3\n"},
		{"group describe billing", "billing  Empty  protocol none  coordinator 1  lag 3\nTOPIC   PARTITION  COMMITTED  END  LAG  MEMBER\norders  0          1          4    3    -\n"},
		{"group reset billing --to-latest", "TOPIC   PARTITION  FROM  TO  \norders  0          1     4   \nbilling: nothing was changed; --execute does it\n"},
		{"group reset billing --shift-by -9", "TOPIC   PARTITION  FROM  TO  \norders  0          1     0   \nbilling: nothing was changed; --execute does it\n"},
		{"group reset billing --by-duration 1h --execute", "TOPIC   PARTITION  FROM  TO  \norders  0          1     0   \nbilling: reset\n"},
		{"group reset billing --to-offset 3 --execute", "TOPIC   PARTITION  FROM  TO  \norders  0          0     3   \nbilling: reset\n"},
		{"group lag billing", "GROUP    TOPIC   PARTITIONS  LAG\nbilling  orders  1           1\n"},
		{"group reset fresh --topic orders --to-earliest --execute", "TOPIC   PARTITION  FROM  TO  \norders  0          -     0   \nfresh: reset\n"},
		{"group delete billing fresh", "billing: deleted\nfresh: deleted\n"},
		{"group list", "NAME  STATE  TYPE  PROTOCOL\n"},
	} {
		if got := must(t, at, "", strings.Fields(c.line)...); got != c.want {
			t.Errorf("mortise %s:\n%swant\n%s", c.line, got, c.want)
		}
	}
}

func TestGroupsInJSON(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders")
	must(t, at, "a\nb\n", "produce", "orders")
	commitAt(t, at, "g", "orders", 1)
	if all := decode[[]groupSummary](t, must(t, at, "", "group", "list", "-o", "json")); len(all) != 1 || all[0].State != "Empty" {
		t.Errorf("%+v", all)
	}
	views := decode[[]groupView](t, must(t, at, "", "group", "describe", "g", "-o", "json"))
	if len(views) != 1 || views[0].Lag != 1 || len(views[0].Offsets) != 1 || views[0].Offsets[0].Committed != 1 {
		t.Errorf("%+v", views)
	}
	plan := decode[resetResult](t, must(t, at, "", "group", "reset", "g", "--to-latest", "-o", "json"))
	if plan.Done || len(plan.Offsets) != 1 || plan.Offsets[0] != (resetRow{Topic: "orders", From: 1, To: 2}) {
		t.Errorf("%+v", plan)
	}
}

// TestGroupResetRefusesActiveGroups: a reset under running consumers would be
// overwritten by their next commit.
func TestGroupResetRefusesActiveGroups(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders")
	must(t, at, "a\n", "produce", "orders")
	c, err := kgo.NewClient(kgo.SeedBrokers(at), kgo.ConsumerGroup("live"), kgo.ConsumeTopics("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for c.PollFetches(t.Context()).NumRecords() == 0 {
	}
	fails(t, at, "", 1, "stop them first", "group", "reset", "live", "--to-earliest", "--execute")
	fails(t, at, "", 2, "say where to", "group", "reset", "live")
}
