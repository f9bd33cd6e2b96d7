package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// decode reads JSON that a command has printed and refuses fields that T lacks.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}

func TestTopicsInText(t *testing.T) {
	_, at := start(t)
	for _, c := range []struct{ line, want string }{
		{"topic create orders --partitions 3 --replication-factor 1 --config retention.ms=1000 -c segment.bytes=1048576", "orders: created\n"},
		{"topic create orders --if-not-exists", "orders: exists already\n"},
		{"topic create plain", "plain: created\n"},
		{"topic list", "NAME    PARTITIONS  REPLICAS\norders  3           1\nplain   1           1\n"},
		{"topic ls --internal", "NAME    PARTITIONS  REPLICAS\norders  3           1\nplain   1           1\n"},
		{"topic alter orders --partitions 5 --set retention.ms=2000 --unset segment.bytes", "orders: altered\norders: altered\n"},
		{"topic delete plain", "plain: deleted from " + at + "\n"},
		{"topic delete plain --if-exists", "plain: does not exist\n"},
	} {
		if got := must(t, at, "", strings.Fields(c.line)...); got != c.want {
			t.Errorf("mortise %s:\n%swant\n%s", c.line, got, c.want)
		}
	}
	text := must(t, at, "", "topic", "describe", "orders")
	for _, want := range []string{"orders  id ", "retention.ms=2000 (dynamic topic config)", "PARTITION  LEADER", "\n4          1       0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "segment.bytes") {
		t.Errorf("a config that was unset is shown:\n%s", text)
	}
}

func TestTopicsInJSON(t *testing.T) {
	_, at := start(t)
	rows := decode[[]resultRow](t, must(t, at, "", "topic", "create", "a", "b", "-p", "2", "-o", "json"))
	if len(rows) != 2 || rows[0] != (resultRow{Name: "a", Result: "created"}) {
		t.Errorf("%+v", rows)
	}
	if list := decode[[]topicSummary](t, must(t, at, "", "topic", "list", "-o", "json")); len(list) != 2 || list[1] != (topicSummary{"b", 2, 1}) {
		t.Errorf("%+v", list)
	}
	must(t, at, "x\ny\n", "produce", "a", "-p", "1")
	views := decode[[]topicView](t, must(t, at, "", "topic", "describe", "a", "-o", "json"))
	if p := views[0].Partitions[1]; p.Leader != 1 || p.EndOffset != 2 || p.Bytes == 0 || len(p.ISR) != 1 {
		t.Errorf("%+v", views)
	}
	if rows := decode[[]resultRow](t, must(t, at, "", "topic", "alter", "a", "-p", "4", "-o", "json")); rows[0].Result != "altered" {
		t.Errorf("%+v", rows)
	}
	if rows := decode[[]resultRow](t, must(t, at, "", "topic", "delete", "a", "b", "-o", "json")); len(rows) != 2 {
		t.Errorf("%+v", rows)
	}
	if out := must(t, at, "", "topic", "list", "-o", "json"); out != "[]\n" {
		t.Errorf("no topics are %q, want an empty list", out)
	}
}

// TestTopicErrors holds that each thing that failed is named with Kafka's words,
// that the others are done, and that the exit code is 1.
func TestTopicErrors(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "t", "-p", "2")
	for _, c := range []struct{ line, want string }{
		{"topic create t", "t: TOPIC_ALREADY_EXISTS: Topic 't' already exists."},
		{"topic create a*b", "a*b: INVALID_TOPIC_EXCEPTION: Topic name is invalid"},
		{"topic create u --partitions 0", "u: INVALID_PARTITIONS:"},
		{"topic create u --replication-factor 3", "u: INVALID_REPLICATION_FACTOR:"},
		{"topic create u --config nosuch=1", "u: INVALID_CONFIG: Unknown topic config name: nosuch"},
		{"topic alter t --partitions 1", "t: INVALID_PARTITIONS:"},
		{"topic alter t --set retention.ms=x", "t: INVALID_CONFIG: Invalid value x for configuration retention.ms"},
		{"topic alter nosuch --partitions 3", "nosuch: UNKNOWN_TOPIC_OR_PARTITION"},
		{"topic delete nosuch t", "t: deleted"},
	} {
		r := run(t, at, "", strings.Fields(c.line)...)
		if r.code != output.ExitFailure || !strings.Contains(r.out, c.want) {
			t.Errorf("mortise %s: code %d\n%s\n%v; want code 1 and %s", c.line, r.code, r.out, r.err, c.want)
		}
	}
	must(t, at, "", "topic", "create", "here")
	r := run(t, at, "", "topic", "describe", "nosuch", "here")
	if r.code != output.ExitFailure || !strings.Contains(r.err.Error(), "topic nosuch: UNKNOWN_TOPIC_OR_PARTITION") || !strings.HasPrefix(r.out, "here  id ") {
		t.Errorf("code %d, %v\n%s", r.code, r.err, r.out)
	}
}

func TestCompletion(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders", "audit")
	for _, c := range []struct{ line, want string }{
		{"topic describe _", "audit\norders\n"},
		{"topic delete audit _", "audit\norders\n"},
		{"consume _", "audit\norders\n"},
		{"produce -z _", "none\ngzip\nsnappy\nlz4\nzstd\n"},
		{"produce --acks _", "all\n1\n0\n"},
		{"-o _", "text\njson\n"},
		{"serve --durability _", "page-cache\nfsync\n"},
		{"serve --log-level _", "debug\ninfo\nwarn\nerror\n"},
	} {
		completes(t, at, c.line, c.want)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := must(t, at, "", "completion", shell); !strings.Contains(out, "mortise") {
			t.Errorf("%s: %q", shell, out)
		}
	}
}
