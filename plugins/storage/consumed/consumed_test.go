package consumed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/plugins/storage/internal/obligations"
	"github.com/mortisemq/mortise/sdk/storage"
)

const (
	hour = int64(3_600_000)
	now  = 100 * hour
)

func newRule(t *testing.T, config string) *retention {
	t.Helper()
	r, err := parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fiveSegments are of ten offsets and 100 bytes each; the oldest ended ten hours ago,
// each next one two hours later, and the last is active.
func fiveSegments(committed ...storage.GroupOffset) storage.LogFacts {
	l := storage.LogFacts{
		Topic: "t", Partition: 2, LeaderEpoch: 4, NowMS: now, HighWatermark: 50, LastStable: 50,
		RetentionMS: -1, RetentionBytes: -1, Committed: committed,
	}
	for i := range int64(5) {
		at := now - (10-2*i)*hour
		l.Segments = append(l.Segments, storage.SegmentFacts{
			BaseOffset: i * 10, NextOffset: (i + 1) * 10, Bytes: 100, MaxTimestampMS: at, ModifiedMS: at, Active: i == 4,
		})
	}
	return l
}

func TestDecide(t *testing.T) {
	both := func(a, b int64) []storage.GroupOffset {
		return []storage.GroupOffset{{Group: "billing", Offset: a}, {Group: "audit", Offset: b}, {Group: "other", Offset: 1}}
	}
	const groups = `"groups":["billing","audit"]`
	for _, c := range []struct {
		name, config string
		committed    []storage.GroupOffset
		change       func(*storage.LogFacts)
		want         int
		reason       string
	}{
		{"the slowest decides", `{` + groups + `}`, both(50, 25), nil, 2, `consumed: the slowest group "audit" is at 25`},
		{"a segment's end is exclusive", `{` + groups + `}`, both(50, 20), nil, 2, `"audit" is at 20`},
		{"one short of the end keeps it", `{` + groups + `}`, both(19, 50), nil, 1, `"billing" is at 19`},
		{"a group without an offset keeps all", `{` + groups + `}`, []storage.GroupOffset{{Group: "billing", Offset: 50}}, nil, 0, ""},
		{"no offsets keep all", `{` + groups + `}`, nil, nil, 0, ""},
		{"the active segment stays", `{` + groups + `,"keep":{"ms":0}}`, both(50, 50), nil, 4, "consumed"},
		{"nothing beyond the last stable offset", `{` + groups + `}`, both(50, 50), func(l *storage.LogFacts) { l.LastStable = 15 }, 1, "consumed"},
		{"the floor of an hour is the default", `{` + groups + `}`, both(50, 50), func(l *storage.LogFacts) { l.NowMS = now - 5*hour }, 2, "consumed"},
		{"a floor of time", `{` + groups + `,"keep":{"ms":25200000}}`, both(50, 50), nil, 2, "consumed"},
		{"a floor of bytes", `{` + groups + `,"keep":{"ms":0,"bytes":250}}`, both(50, 50), nil, 2, "consumed"},
		{"a ceiling of time", `{` + groups + `,"limit":{"ms":18000000}}`, both(15, 0), nil, 3, `retention.ms, although group "audit" is at 0`},
		{"a ceiling of bytes", `{` + groups + `,"limit":{"bytes":350}}`, both(15, 50), nil, 1, "consumed"},
		{"a ceiling of bytes beyond what was read", `{` + groups + `,"limit":{"bytes":250}}`, both(5, 50), nil, 2, `retention.bytes, although group "billing" is at 5`},
		{"the topic's limit is the ceiling", `{` + groups + `}`, both(0, 0), func(l *storage.LogFacts) { l.RetentionMS = 7 * hour }, 2, "although"},
		{"-1 lifts the topic's limit", `{` + groups + `,"limit":{"ms":-1}}`, both(0, 0), func(l *storage.LogFacts) { l.RetentionMS = 7 * hour }, 0, ""},
		{"the floor wins over the topic's limit", `{` + groups + `,"keep":{"ms":32400000}}`, both(0, 0), func(l *storage.LogFacts) { l.RetentionMS = 0 }, 1, "although"},
		{"the ceiling takes the active segment with all others", `{` + groups + `,"keep":{"ms":0},"limit":{"ms":0}}`, both(0, 0), func(l *storage.LogFacts) { l.NowMS++ }, 5, "although"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := fiveSegments(c.committed...)
			if c.change != nil {
				c.change(&l)
			}
			got, err := newRule(t, c.config).Decide(t.Context(), []storage.LogFacts{l})
			if err != nil {
				t.Fatal(err)
			}
			n, reason := 0, ""
			if len(got) == 1 {
				n, reason = got[0].DeleteOldest, got[0].Reason
			}
			if n != c.want || !strings.Contains(reason, c.reason) || len(got) > 1 {
				t.Errorf("verdicts %+v, want %d segments because %q", got, c.want, c.reason)
			}
		})
	}
}

func TestDecideStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newRule(t, `{"groups":["g"]}`).Decide(ctx, []storage.LogFacts{fiveSegments()}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// TestObligations draws configs too, and looks at the floor and at unread segments.
func TestObligations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	deleted := 0
	for range 3000 {
		rule := &retention{groups: []string{"audit", "billing"}[r.IntN(2):]}
		rule.keep = keep{MS: r.Int64N(2) * r.Int64N(obligations.Now), Bytes: r.Int64N(2) * r.Int64N(2000)}
		if r.IntN(2) == 0 {
			ms := rule.keep.MS + r.Int64N(obligations.Now)
			rule.limit.MS = &ms
		}
		n, err := obligations.Checks{Monotone: true, Deleted: rule.floorAndReaders}.Check(t.Context(), rule, r)
		if err != nil {
			t.Fatalf("%+v: %v", rule, err)
		}
		deleted += n
	}
	if deleted < 1000 {
		t.Errorf("%d segments went in all: the test is weak", deleted)
	}
}

// floorAndReaders says whether what goes is above the floor, and read unless it is
// beyond a limit.
func (r *retention) floorAndReaders(l *storage.LogFacts, n int) error {
	left := l.Bytes()
	for _, s := range l.Segments[:n] {
		left -= s.Bytes
		if r.keep.MS > 0 && l.AgeMS(&s) <= r.keep.MS {
			return errors.New("a segment younger than the floor goes")
		}
	}
	if n > 0 && left < r.keep.Bytes {
		return fmt.Errorf("%d bytes stay, below the floor of %d", left, r.keep.Bytes)
	}
	ms, bytes := r.ceiling(l)
	if n == 0 || ms >= 0 && l.AgeMS(&l.Segments[n-1]) > ms || bytes >= 0 && left >= bytes {
		return nil
	}
	if _, offset := r.slowest(l); l.Segments[n-1].NextOffset > offset {
		return errors.New("a segment goes that is not read and within all limits")
	}
	return nil
}

func TestConfig(t *testing.T) {
	if err := Plugin().Check(); err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string]string{
		`{}`:                                     "0 names",
		`{"groups":[]}`:                          "0 names",
		`{"groups":[""]}`:                        "no name",
		`{"groups":["a","a"]}`:                   "twice",
		`{"groups":["a"],"keep":{"ms":-1}}`:      "must not be negative",
		`{"groups":["a"],"limit":{"ms":-2}}`:     "-1 (no limit) or more",
		`{"groups":["a"],"limit":{"ms":5}}`:      "limit.ms 5 is below keep.ms 3600000",
		`{"groups":["a"],"limit":{"hours":5}}`:   "hours",
		`{"groups":"a"}`:                         "config",
		`{"groups":["a"],"limit":{"bytes":1.5}}`: "config",
		`{"groups":["a"],"keep":{"bytes":9},"limit":{"bytes":8}}`: "limit.bytes 8 is below keep.bytes 9",
		`{"groups":["a"],"limit":{"ms":-1,"bytes":-1}}`:           "would fill the disk",
	} {
		if err := Plugin().Validate([]byte(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", config, err, want)
		}
	}
}
