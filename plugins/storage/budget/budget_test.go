package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/plugins/storage/internal/obligations"
	"github.com/mortisemq/mortise/sdk/storage"
)

func newRule(t *testing.T, config string) *retention {
	t.Helper()
	r, err := parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// facts is a log of n segments of 100 bytes and an active one of 100; the oldest ended
// at the time given, each next one ten later.
func facts(topic string, partition int32, n int, oldest int64) storage.LogFacts {
	l := storage.LogFacts{Topic: topic, Partition: partition, NowMS: 10_000, HighWatermark: 1 << 40, LastStable: 1 << 40}
	for i := range int64(n) + 1 {
		at := oldest + 10*i
		l.Segments = append(l.Segments, storage.SegmentFacts{
			BaseOffset: i, NextOffset: i + 1, Bytes: 100, MaxTimestampMS: at, ModifiedMS: at, Active: i == int64(n),
		})
	}
	return l
}

// decide returns the verdicts as "topic-partition" to segments.
func decide(t *testing.T, r *retention, logs ...storage.LogFacts) map[string]int {
	t.Helper()
	verdicts, err := r.Decide(t.Context(), logs)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, v := range verdicts {
		got[fmt.Sprintf("%s-%d", v.Topic, v.Partition)] = v.DeleteOldest
		if !strings.Contains(v.Reason, "topic "+v.Topic) {
			t.Errorf("reason %q does not name topic %s", v.Reason, v.Topic)
		}
	}
	return got
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name, config string
		logs         []storage.LogFacts
		want         map[string]int
	}{
		{"all fit", `{"bytes":2000,"keep":{"ms":0}}`, []storage.LogFacts{facts("a", 0, 9, 0), facts("b", 0, 9, 0)}, nil},
		{"equal weights", `{"bytes":1000,"keep":{"ms":0}}`, []storage.LogFacts{facts("a", 0, 9, 0), facts("b", 0, 9, 0)},
			map[string]int{"a-0": 5, "b-0": 5}},
		{"by weight", `{"bytes":1000,"weights":{"a":3},"keep":{"ms":0}}`, []storage.LogFacts{facts("a", 0, 9, 0), facts("b", 0, 9, 0)},
			map[string]int{"a-0": 2, "b-0": 8}}, // shares of 750 and 250, to within a segment
		{"what one does not need is the other's", `{"bytes":1000,"weights":{"a":9},"keep":{"ms":0}}`, []storage.LogFacts{facts("a", 0, 1, 0), facts("b", 0, 11, 0)},
			map[string]int{"b-0": 4}},
		{"oldest of all partitions first", `{"bytes":1200,"keep":{"ms":0}}`, []storage.LogFacts{facts("a", 0, 9, 500), facts("a", 1, 9, 480)},
			map[string]int{"a-0": 3, "a-1": 5}},
		{"a prefix", `{"bytes":1000,"weights":{"a*":1,"a-big*":4,"*":1},"keep":{"ms":0}}`, []storage.LogFacts{facts("a-big1", 0, 9, 0), facts("a-x", 0, 9, 0)},
			map[string]int{"a-big1-0": 2, "a-x-0": 8}},
		{"the active segment stays", `{"bytes":1,"keep":{"ms":0}}`, []storage.LogFacts{facts("a", 0, 2, 0)}, map[string]int{"a-0": 2}},
		{"a floor of time", `{"bytes":1,"keep":{"ms":9985}}`, []storage.LogFacts{facts("a", 0, 9, 0)}, map[string]int{"a-0": 2}},
		{"a floor of bytes", `{"bytes":1,"keep":{"ms":0,"bytes":650}}`, []storage.LogFacts{facts("a", 0, 9, 0)}, map[string]int{"a-0": 3}},
		{"a topic within its share loses nothing for one that can't shrink", `{"bytes":1000,"keep":{"ms":9000}}`,
			[]storage.LogFacts{facts("a", 0, 9, 9000), facts("b", 0, 3, 0)}, nil},
		{"an hour is the default floor", `{"bytes":1}`, []storage.LogFacts{facts("a", 0, 9, 0)}, map[string]int{"a-0": 9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.logs {
				if c.name == "an hour is the default floor" {
					c.logs[i].NowMS = 3_600_000 + 85
				}
			}
			got := decide(t, newRule(t, c.config), c.logs...)
			if fmt.Sprint(got) != fmt.Sprint(c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("%v go, want %v", got, c.want)
			}
		})
	}
}

// TestQuestionsOfOneRound splits a round: every question must know the shares, and a
// topic in two questions must lose its excess once.
func TestQuestionsOfOneRound(t *testing.T) {
	r := newRule(t, `{"bytes":2000,"keep":{"ms":0}}`)
	logs := []storage.LogFacts{facts("a", 0, 9, 0), facts("a", 1, 9, 0), facts("b", 0, 9, 0), facts("c", 0, 4, 0)}
	whole := decide(t, r, logs...)
	topics := []storage.TopicBytes{{Topic: "a", Bytes: 2000}, {Topic: "b", Bytes: 1000}, {Topic: "c", Bytes: 500}}
	parts := map[string]int{}
	for i := range logs {
		logs[i].Topics = topics
		for log, n := range decide(t, r, logs[i]) {
			parts[log] = n
		}
	}
	// 500 of the budget are c's, 750 each a's and b's: 1250 and 250 are too much.
	if whole["a-0"]+whole["a-1"] < 12 || parts["a-0"] != 7 || parts["a-1"] != 7 || parts["b-0"] != 3 || parts["c-0"] != 0 {
		t.Errorf("one question: %v, four: %v", whole, parts)
	}
}

func TestDecideStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newRule(t, `{"bytes":1,"keep":{"ms":0}}`).Decide(ctx, []storage.LogFacts{facts("a", 0, 9, 0)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestObligations(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	deleted := 0
	for range 3000 {
		rule := &retention{}
		rule.config.Bytes = 1 + r.Int64N(8000)
		rule.config.Weights = map[string]float64{"topic-1": math.Exp(r.NormFloat64()), "topic-*": math.Exp(r.NormFloat64())}
		rule.config.Keep.MS = r.Int64N(2) * r.Int64N(obligations.Now)
		rule.config.Keep.Bytes = r.Int64N(2) * r.Int64N(2000)
		n, err := obligations.Checks{Deleted: rule.floor}.Check(t.Context(), rule, r)
		if err != nil {
			t.Fatalf("%+v: %v", rule, err)
		}
		deleted += n
	}
	if deleted < 1000 {
		t.Errorf("%d segments went in all: the test is weak", deleted)
	}
}

// floor says whether what goes is above the floor and not active.
func (r *retention) floor(l *storage.LogFacts, n int) error {
	left := l.Bytes()
	for _, s := range l.Segments[:n] {
		left -= s.Bytes
		if s.Active || r.config.Keep.MS > 0 && l.AgeMS(&s) <= r.config.Keep.MS {
			return errors.New("an active segment, or one younger than the floor, goes")
		}
	}
	if n > 0 && left < r.config.Keep.Bytes {
		return fmt.Errorf("%d bytes stay, below the floor of %d", left, r.config.Keep.Bytes)
	}
	return nil
}

// TestSharesAreFair checks what is said of shares, on random topics.
func TestSharesAreFair(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for range 2000 {
		var topics []*topic
		total := int64(0)
		for i := range 1 + r.IntN(10) {
			bytes := r.Int64N(2) * r.Int64N(1e12)
			topics = append(topics, &topic{name: fmt.Sprint(i), weight: math.Exp(3 * r.NormFloat64()), bytes: bytes, here: bytes})
			total += bytes
		}
		budget := 1 + r.Int64N(4e12)
		share(topics, budget)
		level, over, within := 0.0, 0.0, 0.0
		for _, topic := range topics {
			over += topic.excess
			if topic.excess >= least {
				level = (float64(topic.bytes) - topic.excess) / topic.weight
			}
		}
		for _, topic := range topics {
			within = max(within, (float64(topic.bytes)-topic.excess)/topic.weight)
		}
		if want := max(0, float64(total-budget)); math.Abs(over-want) > 1e-6*float64(total)+1 {
			t.Fatalf("the excess is %f, want %f", over, want)
		}
		if over >= least && within > level*(1+1e-6)+1 {
			t.Fatalf("one topic is cut to %f by weight, another has %f", level, within)
		}
	}
}

func TestConfig(t *testing.T) {
	if err := Plugin().Check(); err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string]string{
		`{}`:                                  "bytes is 0",
		`{"bytes":-5}`:                        "bytes is -5",
		`{"bytes":1,"weights":{"a":0}}`:       "weight 0 of",
		`{"bytes":1,"weights":{"a":-1}}`:      "weight -1 of",
		`{"bytes":1,"weights":{"a":1e9}}`:     "weight 1e+09 of",
		`{"bytes":1,"weights":{"":1}}`:        "star stands at the end",
		`{"bytes":1,"weights":{"a*b":1}}`:     "star stands at the end",
		`{"bytes":1,"keep":{"ms":-1}}`:        "must not be negative",
		`{"bytes":1,"budget":1}`:              "budget",
		`{"bytes":1,"weights":{"a":"heavy"}}`: "config",
	} {
		if err := Plugin().Validate([]byte(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", config, err, want)
		}
	}
}

// BenchmarkDecide is about the largest question.
func BenchmarkDecide(b *testing.B) {
	r, err := parse([]byte(`{"bytes":1,"keep":{"ms":0}}`))
	if err != nil {
		b.Fatal(err)
	}
	var logs []storage.LogFacts
	for i := range storage.MaxLogs {
		logs = append(logs, facts(fmt.Sprintf("t%d", i), 0, 1, int64(i)))
	}
	for b.Loop() {
		if _, err := r.Decide(b.Context(), logs); err != nil {
			b.Fatal(err)
		}
	}
}
