package main

import (
	"strings"
	"testing"
)

func TestTopicDescribeLooksInside(t *testing.T) {
	n, at := start(t)
	must(t, at, "", "topic", "create", "orders", "-p", "2", "-c", "cleanup.policy=compact")
	must(t, at, "k:a\nk:b\nk:c\n", "produce", "orders", "-p", "0", "--key-separator", ":")
	commitAt(t, at, "billing", "orders", 1)
	commitAt(t, at, "done", "orders", 3)
	text := must(t, at, "", "topic", "describe", "orders", "--admin", n.AdminAddr())
	for _, want := range []string{"SEGMENTS  CLEANED", "1         to -, 0 B to do", "GROUP BEHIND  PARTITIONS  LAG\nbilling       1           2\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "not known") || strings.Contains(text, "done") {
		t.Errorf("more than there is to tell:\n%s", text)
	}
	v := decode[[]topicView](t, must(t, at, "", "topic", "describe", "orders", "-o", "json", "--admin", n.AdminAddr()))[0]
	if p := v.Partitions[0]; p.Segments == nil || *p.Segments != 1 || p.Cleaner == nil || p.Cleaner.CleanedTo != -1 || p.LogDir == "" {
		t.Errorf("%+v", p)
	}
	if len(v.Groups) != 2 || v.Groups[0] != (topicGroupView{"billing", 1, 2}) || v.Groups[1] != (topicGroupView{"done", 1, 0}) || v.NotKnown != "" {
		t.Errorf("%+v", v)
	}
}

// What only an admin listener knows is said not to be known when none answers, or when
// one of another cluster does.
func TestTopicDescribeSaysWhatIsNotKnown(t *testing.T) {
	_, at := start(t)
	stranger, _ := start(t)
	must(t, at, "", "topic", "create", "orders")
	must(t, stranger.Addr(), "", "topic", "create", "orders")
	for admin, why := range map[string]string{nowhere: "127.0.0.1:1: dial tcp", stranger.AdminAddr(): "it belongs to another cluster"} {
		text := must(t, at, "", "topic", "describe", "orders", "--admin", admin)
		want := "segments and cleaning of 1 of 1 partitions are not known: no answer from "
		if !strings.Contains(text, want) || !strings.Contains(text, why) || !strings.Contains(text, "--admin or MORTISE_ADMIN") {
			t.Errorf("no %q and %q in\n%s", want, why, text)
		}
		v := decode[[]topicView](t, must(t, at, "", "topic", "describe", "orders", "-o", "json", "--admin", admin))[0]
		if v.Partitions[0].Segments != nil || v.NotKnown == "" || v.Groups == nil {
			t.Errorf("%+v", v)
		}
	}
}
