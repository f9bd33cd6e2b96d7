package main

import (
	"context"
	"fmt"

	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

type config struct {
	Segments int `json:"segments"`
}

func main() { sdk.Serve(Plugin()) }

// Plugin is what this program serves.
func Plugin() plugin.Plugin {
	return storage.Plugin(plugin.Plugin{
		Name: "keep-newest", Version: "1.0.0", Summary: "As retention.ms, but never the newest segments.",
	}, newKeepNewest)
}

func newKeepNewest(_ context.Context, c plugin.Config) (storage.Retention, error) {
	settings := config{Segments: 1}
	if err := c.Decode(&settings); err != nil {
		return nil, err
	}
	return keepNewest(settings.Segments), nil
}

// keepNewest deletes by retention.ms but keeps at least so many segments.
type keepNewest int

// Decide implements storage.Retention.
func (k keepNewest) Decide(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	var verdicts []storage.Verdict
	for i := range logs {
		l := &logs[i]
		if l.RetentionMS == storage.Unlimited {
			continue
		}
		old := l.While(func(s *storage.SegmentFacts, _ int64) bool { return l.AgeMS(s) > l.RetentionMS })
		if n := min(old, len(l.Segments)-int(k)); n > 0 {
			verdicts = append(verdicts, l.Verdict(n, fmt.Sprintf("older than %d ms", l.RetentionMS)))
		}
	}
	return verdicts, nil
}
