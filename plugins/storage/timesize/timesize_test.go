package timesize

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/mortisemq/mortise/plugins/storage/internal/obligations"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

const now = int64(1_000_000)

// segs makes segments of 10 offsets and the given bytes; the last is active.
func segs(bytes []int64, maxTS []int64) []storage.SegmentFacts {
	out := make([]storage.SegmentFacts, len(bytes))
	for i := range bytes {
		out[i] = storage.SegmentFacts{
			BaseOffset: int64(i) * 10, NextOffset: int64(i+1) * 10,
			Bytes: bytes[i], MaxTimestampMS: maxTS[i], ModifiedMS: maxTS[i],
			Active: i == len(bytes)-1,
		}
	}
	return out
}

func TestDecide(t *testing.T) {
	old, fresh := now-10_000, now-10
	three := []int64{100, 100, 100}
	cases := []struct {
		name        string
		ms, bytes   int64
		hw, lso     int64
		segments    []storage.SegmentFacts
		want        int
		wantReason  string
		modifiedOld bool
	}{
		{"no limits keeps all", -1, -1, 30, 30, segs(three, []int64{old, old, old}), 0, "", false},
		{"old ones go, a fresh one stops the walk", 1000, -1, 30, 30, segs(three, []int64{old, fresh, old}), 1, "retention.ms", false},
		{"all old: all go, the active one too", 1000, -1, 30, 30, segs(three, []int64{old, old, old}), 3, "retention.ms", false},
		{"exactly the limit stays", 10_000, -1, 30, 30, segs(three, []int64{old, old, old}), 0, "", false},
		{"nothing beyond the high watermark", 1000, -1, 15, 30, segs(three, []int64{old, old, old}), 1, "retention.ms", false},
		{"nothing beyond the last stable offset", 1000, -1, 30, 9, segs(three, []int64{old, old, old}), 0, "", false},
		{"an empty active segment stays", 1000, -1, 20, 20, segs([]int64{100, 100, 0}, []int64{old, old, old}), 2, "retention.ms", false},
		{"size keeps at least the limit", -1, 150, 30, 30, segs(three, []int64{fresh, fresh, fresh}), 1, "retention.bytes", false},
		{"size exactly reached", -1, 200, 30, 30, segs(three, []int64{fresh, fresh, fresh}), 1, "retention.bytes", false},
		{"size not reached", -1, 300, 30, 30, segs(three, []int64{fresh, fresh, fresh}), 0, "", false},
		{"size zero deletes all", -1, 0, 30, 30, segs(three, []int64{fresh, fresh, fresh}), 3, "retention.bytes", false},
		{"the larger of both wins", 1000, 150, 30, 30, segs(three, []int64{old, old, fresh}), 2, "retention.ms", false},
		{"LOG-19 a future timestamp does not pin the log", 1000, -1, 30, 30, segs(three, []int64{now * 1000, old, fresh}), 2, "retention.ms", true},
		{"a future timestamp in a fresh segment stays", 1000, -1, 30, 30, segs(three, []int64{now * 1000, old, fresh}), 0, "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.segments {
				if c.segments[i].MaxTimestampMS > now {
					c.segments[i].ModifiedMS = fresh
					if c.modifiedOld {
						c.segments[i].ModifiedMS = old
					}
				}
			}
			got, err := Retention{}.Decide(context.Background(), []storage.LogFacts{{
				Topic: "t", Partition: 3, LeaderEpoch: 7, NowMS: now,
				HighWatermark: c.hw, LastStable: c.lso,
				RetentionMS: c.ms, RetentionBytes: c.bytes, Segments: c.segments,
			}})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == 0 {
				if len(got) != 0 {
					t.Fatalf("verdicts %+v, want none", got)
				}
				return
			}
			want := storage.Verdict{Topic: "t", Partition: 3, LeaderEpoch: 7, DeleteOldest: c.want, Reason: c.wantReason}
			if len(got) != 1 || got[0] != want {
				t.Fatalf("verdicts %+v, want %+v", got, want)
			}
		})
	}
}

func TestDecideStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Retention{}.Decide(ctx, []storage.LogFacts{{Topic: "t"}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
}

func TestObligations(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	deleted := 0
	for range 3000 {
		n, err := obligations.Checks{Monotone: true}.Check(t.Context(), Retention{}, r)
		if err != nil {
			t.Fatal(err)
		}
		deleted += n
	}
	if deleted < 1000 {
		t.Errorf("%d segments went in all: the test is weak", deleted)
	}
}

func TestPlugin(t *testing.T) {
	p := Plugin()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	if err := p.Validate([]byte(`{"ms":1}`)); err == nil {
		t.Error("a setting passes: limits are the topic's")
	}
	made, err := p.New(t.Context(), plugin.Config{JSON: []byte(`{}`)})
	if _, ok := made.(storage.Retention); err != nil || !ok {
		t.Errorf("made %T, error %v", made, err)
	}
}
