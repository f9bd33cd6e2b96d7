package sdktest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// aRetention is a good one, by age, until something is planted in it.
type aRetention struct {
	count  func(l *storage.LogFacts, i int) int // in place of the good one
	change func(logs []storage.LogFacts, verdicts []storage.Verdict) []storage.Verdict
}

func goodRetention() *aRetention { return &aRetention{count: byAge} }

// byAge counts the segments that are older than five days.
func byAge(l *storage.LogFacts, _ int) int {
	return l.While(func(s *storage.SegmentFacts, _ int64) bool { return l.AgeMS(s) > 5*day })
}

func (a *aRetention) plugin() plugin.Plugin {
	return storage.Plugin(plugin.Plugin{Name: "good", Version: "1.0.0", Validate: plugin.NoConfig},
		func(_ context.Context, c plugin.Config) (storage.Retention, error) { return a, c.Decode(&struct{}{}) })
}

// Decide implements storage.Retention.
func (a *aRetention) Decide(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	var verdicts []storage.Verdict
	for i := range logs {
		if n := a.count(&logs[i], i); n != 0 {
			verdicts = append(verdicts, logs[i].Verdict(n, "five days"))
		}
	}
	if a.change != nil {
		verdicts = a.change(logs, verdicts)
	}
	return verdicts, nil
}

func counting(count func(l *storage.LogFacts, i int) int) plugin.Plugin {
	return (&aRetention{count: count}).plugin()
}

func changing(change func(logs []storage.LogFacts, verdicts []storage.Verdict) []storage.Verdict) plugin.Plugin {
	return (&aRetention{count: byAge, change: change}).plugin()
}

func retentionFaults() []fault {
	var calls atomic.Int64
	old := func(l *storage.LogFacts, limit int) (n int) { // without a look at what may go
		for n < limit && l.AgeMS(&l.Segments[n]) > 5*day {
			n++
		}
		return n
	}
	eachVerdict := func(change func(*storage.Verdict)) plugin.Plugin {
		return changing(func(_ []storage.LogFacts, all []storage.Verdict) []storage.Verdict {
			for i := range all {
				change(&all[i])
			}
			return all
		})
	}
	return []fault{
		{name: "beyond-what-is-committed", finds: "retention/verdicts", says: "may go", plugin: counting(func(l *storage.LogFacts, _ int) int { return old(l, len(l.Segments)) })},
		{name: "more-than-there-are", finds: "retention/verdicts", says: "segments", plugin: counting(func(l *storage.LogFacts, _ int) int { return len(l.Segments) + 1 })},
		{name: "fewer-than-none", way: WayInProcess, finds: "retention/verdicts", says: "bad answer", plugin: counting(func(*storage.LogFacts, int) int { return -1 })},
		{name: "another-epoch", finds: "retention/verdicts", says: "epoch", plugin: eachVerdict(func(v *storage.Verdict) { v.LeaderEpoch++ })},
		{name: "another-log", finds: "retention/verdicts", says: "not asked about", plugin: eachVerdict(func(v *storage.Verdict) { v.Partition += 50 })},
		{name: "a-log-twice", finds: "retention/verdicts", says: "two verdicts", plugin: changing(func(_ []storage.LogFacts, all []storage.Verdict) []storage.Verdict {
			return append(all, all...)
		})},
		{name: "by-chance", finds: "retention/pure", says: "then", plugin: counting(func(l *storage.LogFacts, i int) int {
			return byAge(l, i) * int(calls.Add(1)%2)
		})},
		{name: "looks-at-a-clock", finds: "retention/clock", says: "years later", plugin: counting(func(l *storage.LogFacts, _ int) int {
			now := time.Now().UnixMilli()
			return l.While(func(s *storage.SegmentFacts, _ int64) bool { return now-s.ModifiedMS > 5*day })
		})},
		{name: "one-at-a-time", finds: "retention/executed", says: "more", plugin: counting(func(l *storage.LogFacts, i int) int { return min(1, byAge(l, i)) })},
		{name: "forgets-with-age", finds: "retention/monotone", says: "later only", plugin: counting(func(l *storage.LogFacts, _ int) int {
			return l.While(func(s *storage.SegmentFacts, _ int64) bool { return l.AgeMS(s) > 5*day && l.AgeMS(s) < 200*day })
		})},
		{name: "by-place", finds: "retention/others", says: "empty log", plugin: counting(func(l *storage.LogFacts, i int) int {
			if i > 2 {
				return 0
			}
			return byAge(l, i)
		})},
		{name: "changes-the-facts", finds: "retention/verdicts", says: "changed the facts", plugin: changing(func(logs []storage.LogFacts, all []storage.Verdict) []storage.Verdict {
			for i := range logs {
				for j := range logs[i].Segments {
					logs[i].Segments[j].Bytes = 0
				}
			}
			return all
		})},
	}
}
