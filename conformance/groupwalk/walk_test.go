package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
)

// walkStatic is the configuration that walks ask of both brokers.
var walkStatic = config.Static{
	"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "500", "offsets.topic.num.partitions": "4",
}

// TestRecorded takes the recorded scripts on a broker in this process and compares the
// traces with those of a real Kafka, pauses included: the bubble's clock makes them
// free.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("recorded traces: %v, %v, want some in testdata", files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all, err := readTraces(string(text))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { replay(t, all) })
		})
	}
}

// replay walks recorded groups side by side and reports where they differ first.
func replay(t *testing.T, all []recorded) {
	b := brokertest.Start(t, brokertest.Options{Static: walkStatic})
	s := newSide("mortise", b.Dial, shortRecorded)
	var groups []*walker
	var names []string
	for _, r := range all {
		script, err := r.script()
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("replayed-", r.number)
		names = append(names, name)
		groups = append(groups, newWalker([]*side{s}, r.number, name, script))
	}
	if err := s.prepare(names); err != nil {
		t.Fatal(err)
	}
	walk(groups, func() bool { return false })
	for i, w := range groups {
		compareRecorded(t, all[i], w)
	}
	if err := s.hangUp(); err != nil {
		t.Error(err)
	}
}

// compareRecorded compares up to the first difference, or to where Kafka leaves it to
// chance.
func compareRecorded(t *testing.T, r recorded, w *walker) {
	got := w.views[0].trace
	for i := range max(len(r.trace), len(got)) {
		switch judge(line(r.trace, i), line(got, i), r.unanswered) {
		case agrees:
			continue
		case differs:
			from := max(0, i-context)
			t.Errorf("group %d:\n%s\nkafka:   %s\nmortise: %s", r.number, strings.Join(got[from:i], "\n"),
				strings.Join(r.trace[i:min(i+3, len(r.trace))], "\n         "), strings.Join(got[i:min(i+3, len(got))], "\n         "))
		}
		return
	}
}

// unanswered says whether the trace has no answer to the operation of that number.
func (r recorded) unanswered(number string) bool {
	return !slices.ContainsFunc(r.trace, func(l string) bool { return strings.HasPrefix(l, "< "+number+" ") })
}

// TestTracesReadBack holds that traces are the same after they were written and read.
func TestTracesReadBack(t *testing.T) {
	want := []recorded{{3, []string{"> 0 list s0 v4 states=any", "< 0 {ErrorCode:NONE}"}}, {9, []string{"- 0 beat s1 v2 gen=0 id=cur"}}}
	var file bytes.Buffer
	if err := writeTraces(&file, want); err != nil {
		t.Fatal(err)
	}
	got, err := readTraces(file.String())
	if err != nil || len(got) != 2 || !slices.Equal(got[0].trace, want[0].trace) || got[1].number != 9 || !slices.Equal(got[1].trace, want[1].trace) {
		t.Errorf("read back %v, %v, want %v", got, err, want)
	}
	if ops, err := got[1].script(); err != nil || len(ops) != 1 || ops[0].do != "beat" {
		t.Errorf("script %v, %v, want one heartbeat", ops, err)
	}
	for _, bad := range []string{"> 0 list s0 v4", "group x\n"} {
		if _, err := readTraces(bad); err == nil {
			t.Errorf("%q was read, want an error", bad)
		}
	}
}

// TestJudge holds what counts as a difference.
func TestJudge(t *testing.T) {
	parked := func(number string) bool { return number == "5" }
	for _, c := range []struct {
		want, got string
		outcome   outcome
	}{
		{"< 1 {ErrorCode:NONE}", "< 1 {ErrorCode:NONE}", agrees},
		{"< 1 {ErrorCode:NONE}", "< 1 {ErrorCode:UNKNOWN_MEMBER_ID}", differs},
		{"< 1 {ErrorCode:NONE Generation:2 LeaderID:s1.1 MemberID:s1.1 Members:[{a}]}", "< 1 {ErrorCode:NONE Generation:2 LeaderID:s2.1 MemberID:s1.1}", drawn},
		{"< 1 {ErrorCode:NONE Generation:2 LeaderID:s1.1 MemberID:s1.1}", "< 1 {ErrorCode:NONE Generation:3 LeaderID:s2.1 MemberID:s1.1}", differs},
		{"< 6 {ErrorCode:NONE}", "< 5 {ErrorCode:UNKNOWN_MEMBER_ID MemberAssignment:}", forgotten},
		{"", "< 4 {ErrorCode:UNKNOWN_MEMBER_ID MemberAssignment:}", differs},
	} {
		if got := judge(c.want, c.got, parked); got != c.outcome {
			t.Errorf("%q beside %q is judged %d, want %d", c.got, c.want, got, c.outcome)
		}
	}
}
