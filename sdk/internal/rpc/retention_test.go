package rpc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// decider is a retention that a test sees into.
type decider func(logs []storage.LogFacts) ([]storage.Verdict, error)

func (d decider) Decide(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	return d(logs)
}

func deciders(d decider, features ...string) plugin.Plugin {
	return storage.Plugin(plugin.Plugin{Name: "d", Version: "1.0.0", Features: features},
		func(context.Context, plugin.Config) (storage.Retention, error) { return d, nil })
}

func someLogs() []storage.LogFacts {
	topics := []storage.TopicBytes{{Topic: "t", Bytes: 1 << 40}, {Topic: "u", Bytes: 0}}
	return []storage.LogFacts{
		{
			Topic: "t", Partition: 3, LeaderEpoch: 5, NowMS: 1 << 41, LogStart: 1, HighWatermark: 100, LastStable: 90,
			RetentionMS: storage.Unlimited, RetentionBytes: 1 << 40, Config: map[string]string{"a": "b"},
			Segments: []storage.SegmentFacts{
				{BaseOffset: 0, NextOffset: 50, Bytes: 10, MaxTimestampMS: -1, ModifiedMS: 7},
				{BaseOffset: 50, NextOffset: 101, Bytes: 20, MaxTimestampMS: 1 << 41, ModifiedMS: 8, Active: true},
			},
			DiskFree: 1, DiskTotal: 1 << 63, Topics: topics,
			Committed: []storage.GroupOffset{{Group: "g", Offset: 40}},
		},
		{Topic: "u", Partition: 0, Segments: []storage.SegmentFacts{}, Topics: topics},
	}
}

func TestRetention(t *testing.T) {
	want := someLogs()
	p := deciders(func(logs []storage.LogFacts) ([]storage.Verdict, error) {
		if !reflect.DeepEqual(logs, want) {
			return nil, fmt.Errorf("got %+v", logs)
		}
		return []storage.Verdict{{Topic: "t", Partition: 3, LeaderEpoch: 5, DeleteOldest: 1, Reason: "old" + strings.Repeat("!", 2000)}}, nil
	}, storage.FeatureCommitted, storage.FeatureTopics)
	c, _, _ := serve(t, p)
	got, err := configure[storage.Retention](t, c, p, "1").Decide(t.Context(), someLogs())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].DeleteOldest != 1 || got[0].Topic != "t" || got[0].LeaderEpoch != 5 || len(got[0].Reason) != storage.MaxReasonBytes {
		t.Errorf("verdicts %+v", got)
	}
}

// TestRetentionIsNotTold committed offsets and other topics without the features.
func TestRetentionIsNotTold(t *testing.T) {
	p := deciders(func(logs []storage.LogFacts) ([]storage.Verdict, error) {
		if logs[0].Committed != nil || logs[0].Topics != nil {
			return nil, fmt.Errorf("got %+v", logs[0])
		}
		return nil, nil
	})
	c, _, _ := serve(t, p)
	if got, err := configure[storage.Retention](t, c, p, "1").Decide(t.Context(), someLogs()); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRetentionQuestionTooLarge(t *testing.T) {
	p := deciders(func([]storage.LogFacts) ([]storage.Verdict, error) { return nil, nil })
	c, _, _ := serve(t, p)
	r := configure[storage.Retention](t, c, p, "1")
	for name, logs := range map[string][]storage.LogFacts{
		"logs":     make([]storage.LogFacts, storage.MaxLogs+1),
		"segments": {{Segments: make([]storage.SegmentFacts, storage.MaxSegments+1)}},
		"topics":   {{Topics: make([]storage.TopicBytes, storage.MaxTopics+1)}},
	} {
		if _, err := r.Decide(t.Context(), logs); !errors.Is(err, plugin.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
}

func TestBadVerdicts(t *testing.T) {
	good := &pluginpb.LogVerdict{Topic: "t", Partition: 3, LeaderEpoch: 5, DeleteOldest: 1}
	for name, bad := range map[string][]*pluginpb.LogVerdict{
		"too many":      {good, good, good},
		"twice":         {good, good},
		"another topic": {good, {Topic: "x", Partition: 3}},
		"another epoch": {{Topic: "t", Partition: 3, LeaderEpoch: 4}},
		"negative":      {{Topic: "t", Partition: 3, LeaderEpoch: 5, DeleteOldest: -1}},
		"more than all": {{Topic: "t", Partition: 3, LeaderEpoch: 5, DeleteOldest: 3}},
	} {
		if got, err := verdicts(someLogs(), bad); !errors.Is(err, plugin.ErrBadAnswer) || got != nil {
			t.Errorf("%s: %+v, %v; want ErrBadAnswer", name, got, err)
		}
	}
	if _, err := verdictMessages([]storage.Verdict{{DeleteOldest: 1 << 40}}); !errors.Is(err, plugin.ErrBadAnswer) {
		t.Errorf("a verdict that no message holds: %v", err)
	}
}

// FuzzVerdicts reads any bytes as an answer: no verdict is about something that was not
// asked, or deletes more than there is.
func FuzzVerdicts(f *testing.F) {
	data, err := proto.Marshal(&pluginpb.DecideResponse{Verdicts: []*pluginpb.LogVerdict{{Topic: "t", Partition: 3, LeaderEpoch: 5, DeleteOldest: 2}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	logs := someLogs()
	f.Fuzz(func(t *testing.T, data []byte) {
		var m pluginpb.DecideResponse
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		got, err := verdicts(logs, m.Verdicts)
		if err != nil {
			return
		}
		for _, v := range got {
			if v.Topic != "t" && v.DeleteOldest > 0 || v.DeleteOldest > 2 {
				t.Fatalf("%+v", v)
			}
		}
	})
}

// FuzzLogFacts reads any bytes as a question: refused, or the same again.
func FuzzLogFacts(f *testing.F) {
	logs := someLogs()
	data, err := proto.Marshal(factsMessage(&logs[0], true))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var m pluginpb.LogFacts
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		l := factsOf(&m)
		if again := factsOf(factsMessage(&l, true)); fmt.Sprint(again) != fmt.Sprint(l) {
			t.Fatalf("%+v became %+v", l, again)
		}
	})
}
