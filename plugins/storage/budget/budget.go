package budget

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Plugin is the retention budget.
func Plugin() plugin.Plugin {
	return storage.Plugin(plugin.Plugin{
		Name:     "budget",
		Version:  "1.0.0",
		Summary:  "one budget of bytes, which topics share by weight",
		Features: []string{storage.FeatureTopics},
		Schema:   []byte(schema),
		Validate: func(raw json.RawMessage) error { _, err := parse(raw); return err },
	}, func(_ context.Context, c plugin.Config) (storage.Retention, error) {
		return parse(c.JSON)
	})
}

// retention implements storage.Retention.
type retention struct{ config config }

// tail is what may go of one log.
type tail struct {
	log  *storage.LogFacts
	gone int // segments that go
	most int // segments that may
}

// next is the oldest segment that may go, nil if there is none.
func (t *tail) next() *storage.SegmentFacts {
	if t.gone == t.most {
		return nil
	}
	return &t.log.Segments[t.gone]
}

// Decide implements storage.Retention.
func (r *retention) Decide(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	topics, tails := r.gather(logs)
	share(topics, r.config.Bytes)
	need := 0.0
	for _, t := range topics {
		need += t.excess
	}
	for need >= least {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("retention by budget: %w", err)
		}
		t, oldest := furthest(topics)
		if t == nil {
			break
		}
		bytes := oldest.next().Bytes
		oldest.gone++
		t.bytes -= bytes
		t.excess -= float64(bytes)
		need -= float64(bytes)
	}
	var verdicts []storage.Verdict
	for _, tail := range tails {
		if tail.gone > 0 {
			reason := fmt.Sprintf("budget of %d bytes: topic %s has more than its share", r.config.Bytes, tail.log.Topic)
			verdicts = append(verdicts, tail.log.Verdict(tail.gone, reason))
		}
	}
	return verdicts, nil
}

// gather puts logs to their topics, and adds topics that only other questions have.
func (r *retention) gather(logs []storage.LogFacts) ([]*topic, []*tail) {
	byName := map[string]*topic{}
	var topics []*topic
	of := func(name string) *topic {
		if byName[name] == nil {
			byName[name] = &topic{name: name, weight: r.config.weight(name)}
			topics = append(topics, byName[name])
		}
		return byName[name]
	}
	var tails []*tail
	for i := range logs {
		t, l := of(logs[i].Topic), &logs[i]
		tails = append(tails, &tail{log: l, most: r.most(l)})
		t.logs = append(t.logs, tails[i])
		t.here += l.Bytes()
	}
	for _, t := range topics {
		t.bytes = t.here
	}
	if len(logs) == 0 {
		return nil, nil
	}
	for _, other := range logs[0].Topics {
		t := of(other.Topic)
		t.bytes = max(t.here, other.Bytes)
	}
	return topics, tails
}

// most counts the oldest segments that may go: neither active nor held by the floor.
func (r *retention) most(l *storage.LogFacts) int {
	keep := r.config.Keep
	return l.While(func(s *storage.SegmentFacts, left int64) bool {
		return !s.Active && (keep.MS == 0 || l.AgeMS(s) > keep.MS) && left >= keep.Bytes
	})
}

// furthest is the topic that is furthest above its share and can lose something, and
// its log with the oldest segment.
func furthest(topics []*topic) (found *topic, oldest *tail) {
	for _, t := range topics {
		if t.excess < least || found != nil && t.perWeight() <= found.perWeight() {
			continue
		}
		if log := t.oldest(); log != nil {
			found, oldest = t, log
		}
	}
	return found, oldest
}

// oldest is the topic's log whose next segment is the oldest, nil if none may go.
func (t *topic) oldest() (oldest *tail) {
	for _, log := range t.logs {
		s := log.next()
		if s == nil {
			continue
		}
		if oldest == nil || log.log.AgeMS(s) > oldest.log.AgeMS(oldest.next()) {
			oldest = log
		}
	}
	return oldest
}

var _ storage.Retention = (*retention)(nil)
