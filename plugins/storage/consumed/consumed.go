package consumed

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mortisemq/mortise/plugins/storage/timesize"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Plugin is the retention consumed.
func Plugin() plugin.Plugin {
	return storage.Plugin(plugin.Plugin{
		Name:     "consumed",
		Version:  "1.0.0",
		Summary:  "what every named group has committed, with a floor and a ceiling",
		Features: []string{storage.FeatureCommitted},
		Schema:   []byte(schema),
		Validate: func(raw json.RawMessage) error { _, err := parse(raw); return err },
	}, func(_ context.Context, c plugin.Config) (storage.Retention, error) {
		return parse(c.JSON)
	})
}

// retention implements storage.Retention.
type retention struct {
	groups []string // sorted
	keep   keep
	limit  limit
}

// Decide implements storage.Retention.
func (r *retention) Decide(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	var verdicts []storage.Verdict
	for i := range logs {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("retention by consumption: %w", err)
		}
		if n, reason := r.decide(&logs[i]); n > 0 {
			verdicts = append(verdicts, logs[i].Verdict(n, reason))
		}
	}
	return verdicts, nil
}

// decide counts the oldest segments that may go, and says why.
func (r *retention) decide(l *storage.LogFacts) (int, string) {
	slowest, offset := r.slowest(l)
	ms, bytes := r.ceiling(l)
	reason := fmt.Sprintf("consumed: the slowest group %q is at %d", slowest, offset)
	n := l.While(func(s *storage.SegmentFacts, left int64) bool {
		if r.keep.holds(l.AgeMS(s), left) {
			return false
		}
		if s.NextOffset <= offset && !s.Active {
			return true
		}
		limit := timesize.Beyond(l.AgeMS(s), left, ms, bytes)
		if limit != "" {
			reason = fmt.Sprintf("%s, although group %q is at %d", limit, slowest, offset)
		}
		return limit != ""
	})
	return n, reason
}

// slowest is the group that has committed least, and what: 0 for nothing.
func (r *retention) slowest(l *storage.LogFacts) (group string, offset int64) {
	for i, name := range r.groups {
		committed := int64(0)
		for _, c := range l.Committed {
			if c.Group == name {
				committed = max(committed, c.Offset)
			}
		}
		if i == 0 || committed < offset {
			group, offset = name, committed
		}
	}
	return group, offset
}

// holds says whether the floor keeps a segment of that age, when left bytes stay
// without it.
func (k keep) holds(age, left int64) bool {
	return k.MS > 0 && age <= k.MS || left < k.Bytes
}

// ceiling is the limits in force for a log.
func (r *retention) ceiling(l *storage.LogFacts) (ms, bytes int64) {
	ms, bytes = l.RetentionMS, l.RetentionBytes
	if r.limit.MS != nil {
		ms = *r.limit.MS
	}
	if r.limit.Bytes != nil {
		bytes = *r.limit.Bytes
	}
	return ms, bytes
}

var _ storage.Retention = (*retention)(nil)
