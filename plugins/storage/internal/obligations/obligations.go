package obligations

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/mortisemq/mortise/sdk/storage"
)

// Checks are what a rule is held to.
type Checks struct {
	// Monotone says that each log loses no less when time goes on. A rule that
	// weighs logs against each other is not.
	Monotone bool
	// Deleted, if set, looks at each log and how many of its segments go.
	Deleted func(l *storage.LogFacts, n int) error
}

// Check asks a rule about drawn facts and names the first obligation that its verdicts
// break. It returns how many segments went, so that a test can see that it is not
// about nothing.
func (c Checks) Check(ctx context.Context, rule storage.Retention, r *rand.Rand) (int, error) {
	logs := Draw(r)
	gone, err := c.ask(ctx, rule, logs)
	if err != nil {
		return 0, err
	}
	deleted := 0
	for i := range logs {
		deleted += gone[i]
		if c.Deleted != nil {
			if err := c.Deleted(&logs[i], gone[i]); err != nil {
				return 0, fmt.Errorf("%w: %d of %+v", err, gone[i], logs[i])
			}
		}
	}
	if again, err := c.ask(ctx, rule, logs); err != nil || !slices.Equal(gone, again) {
		return 0, fmt.Errorf("1: the same facts gave %v, then %v, %v", gone, again, err)
	}
	if c.Monotone {
		if later, err := c.ask(ctx, rule, at(logs, Now+r.Int64N(2*Now))); err != nil || !noLess(later, gone) {
			return 0, fmt.Errorf("%v go, and later only %v, %v", gone, later, err)
		}
	}
	if more, err := c.ask(ctx, rule, without(logs, gone)); err != nil || slices.Max(append(more, 0)) > 0 {
		return 0, fmt.Errorf("9: after %v were executed it asks for %v more, %v, of %+v", gone, more, err, logs)
	}
	return deleted, nil
}

// ask is how many segments of each log go, when the verdicts keep the obligations.
func (Checks) ask(ctx context.Context, rule storage.Retention, logs []storage.LogFacts) ([]int, error) {
	before := at(logs, 0)
	verdicts, err := rule.Decide(ctx, logs)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(before, at(logs, 0)) {
		return nil, fmt.Errorf("1: the facts were changed")
	}
	gone := make([]int, len(logs))
	for _, v := range verdicts {
		i := slices.IndexFunc(logs, func(l storage.LogFacts) bool { return l.Topic == v.Topic && l.Partition == v.Partition })
		switch {
		case i < 0 || logs[i].LeaderEpoch != v.LeaderEpoch || gone[i] != 0:
			return nil, fmt.Errorf("2: verdict %+v names no log of the question, another epoch, or a log twice", v)
		case v.DeleteOldest < 1 || v.DeleteOldest > len(logs[i].Segments):
			return nil, fmt.Errorf("3: verdict %+v of %d segments", v, len(logs[i].Segments))
		case v.DeleteOldest > logs[i].Deletable():
			return nil, fmt.Errorf("4, 5: verdict %+v, only %d segments may go", v, logs[i].Deletable())
		case v.Reason == "" || len(v.Reason) > storage.MaxReasonBytes:
			return nil, fmt.Errorf("verdict %+v tells people nothing, or too much", v)
		}
		gone[i] = v.DeleteOldest
	}
	return gone, nil
}

// at is the facts at another time.
func at(logs []storage.LogFacts, nowMS int64) []storage.LogFacts {
	logs = slices.Clone(logs)
	for i := range logs {
		logs[i].NowMS = nowMS
		logs[i].Segments = slices.Clone(logs[i].Segments)
	}
	return logs
}

// without is the facts after the oldest segments went. Where all went, the core has
// rolled an empty active one.
func without(logs []storage.LogFacts, gone []int) []storage.LogFacts {
	logs = slices.Clone(logs)
	for i, n := range gone {
		l := &logs[i]
		if n > 0 && n == len(l.Segments) {
			end := l.Segments[n-1].NextOffset
			l.Segments = []storage.SegmentFacts{{BaseOffset: end, NextOffset: end, MaxTimestampMS: -1, ModifiedMS: l.NowMS, Active: true}}
			continue
		}
		l.Segments = l.Segments[n:]
	}
	return logs
}

// noLess says whether each of a is at least that of b.
func noLess(a, b []int) bool {
	for i := range b {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}
