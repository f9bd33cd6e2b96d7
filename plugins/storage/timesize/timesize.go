package timesize

import (
	"cmp"
	"context"
	"fmt"

	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Plugin is the retention time-size. It has no settings: the limits are the topic's
// retention.ms and retention.bytes.
func Plugin() plugin.Plugin {
	return storage.Plugin(plugin.Plugin{
		Name:     "time-size",
		Version:  "1.0.0",
		Summary:  "Kafka's retention.ms and retention.bytes",
		Schema:   []byte(plugin.NoConfigSchema),
		Validate: plugin.NoConfig,
	}, func(_ context.Context, c plugin.Config) (storage.Retention, error) {
		return Retention{}, plugin.NoConfig(c.JSON)
	})
}

// Retention is Kafka's rule of time and size. The zero value is ready.
type Retention struct{}

// Decide implements storage.Retention.
func (Retention) Decide(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	var verdicts []storage.Verdict
	for i := range logs {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("retention by time and size: %w", err)
		}
		l, reason := &logs[i], ""
		n := l.While(func(s *storage.SegmentFacts, left int64) bool {
			beyond := Beyond(l.AgeMS(s), left, l.RetentionMS, l.RetentionBytes)
			reason = cmp.Or(beyond, reason)
			return beyond != ""
		})
		if n > 0 {
			verdicts = append(verdicts, l.Verdict(n, reason))
		}
	}
	return verdicts, nil
}

// Beyond names the limit that lets a segment of that age go, when left bytes stay
// without it; it is empty if none does. A negative limit is none.
func Beyond(age, left, ms, bytes int64) string {
	switch {
	case ms >= 0 && age > ms:
		return "retention.ms"
	case bytes >= 0 && left >= bytes:
		return "retention.bytes"
	}
	return ""
}

var _ storage.Retention = Retention{}
