package obligations

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/sdk/storage"
)

// rule is a Retention of a function.
type rule func(logs []storage.LogFacts) []storage.Verdict

func (r rule) Decide(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	return r(logs), nil
}

// each makes a rule that decides log by log.
func each(n func(l *storage.LogFacts) int) rule {
	return func(logs []storage.LogFacts) (verdicts []storage.Verdict) {
		for i := range logs {
			if gone := n(&logs[i]); gone != 0 {
				verdicts = append(verdicts, logs[i].Verdict(gone, "because"))
			}
		}
		return verdicts
	}
}

func TestCheckFindsBadRules(t *testing.T) {
	calls := 0
	for name, c := range map[string]struct {
		rule rule
		want string
	}{
		"good":          {each((*storage.LogFacts).Deletable), ""},
		"keeps":         {each(func(*storage.LogFacts) int { return 0 }), ""},
		"beyond":        {each(func(l *storage.LogFacts) int { return len(l.Segments) }), "4, 5"},
		"too many":      {each(func(l *storage.LogFacts) int { return len(l.Segments) + 1 }), "3:"},
		"negative":      {each(func(*storage.LogFacts) int { return -1 }), "3:"},
		"greedy":        {each(func(l *storage.LogFacts) int { return min(1, l.Deletable()) }), "9:"},
		"fickle":        {each(func(l *storage.LogFacts) int { calls++; return l.Deletable() * (calls % 2) }), "1:"},
		"not monotone":  {each(func(l *storage.LogFacts) int { return l.Deletable() * int(min(1, max(0, Now+1-l.NowMS))) }), "later"},
		"another epoch": {spoilt(func(v *storage.Verdict) { v.LeaderEpoch++ }), "2:"},
		"no reason":     {spoilt(func(v *storage.Verdict) { v.Reason = "" }), "people"},
		"spoils facts": {each(func(l *storage.LogFacts) int {
			l.Segments = append(l.Segments[:0:0], l.Segments...)
			l.Topic += "x"
			return 0
		}), "1:"},
		"a log twice": {func(l []storage.LogFacts) []storage.Verdict {
			return append(each((*storage.LogFacts).Deletable)(l), each((*storage.LogFacts).Deletable)(l)...)
		}, "2:"},
	} {
		r := rand.New(rand.NewPCG(1, 1))
		var err error
		for range 200 {
			if _, err = (Checks{Monotone: true}).Check(t.Context(), c.rule, r); err != nil {
				break
			}
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// spoilt spoils the verdicts of a good rule.
func spoilt(spoil func(*storage.Verdict)) rule {
	return func(logs []storage.LogFacts) []storage.Verdict {
		verdicts := each((*storage.LogFacts).Deletable)(logs)
		for i := range verdicts {
			spoil(&verdicts[i])
		}
		return verdicts
	}
}
