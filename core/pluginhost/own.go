package pluginhost

import (
	"context"
	"fmt"
	"time"
)

// metricsMax is how long a plugin may take to tell its own metrics.
const metricsMax = 2 * time.Second

// Metrics are those that the plugin in service tells of itself, in Prometheus' text
// format, at most plugin.MaxMetricsBytes. They are the plugin's words: nothing is made of
// them here. ErrNotFound, ErrUnavailable, ErrTimeout, or plugin.ErrUnsupported: it has
// none. It takes a place among the plugin's calls, and counts as none of them.
func (h *Host) Metrics(ctx context.Context, name string) ([]byte, error) {
	s, err := h.find(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, metricsMax)
	defer cancel()
	g := s.enter(ctx, nil)
	if g == nil {
		return nil, fmt.Errorf("metrics of plugin %q: %w: %w", name, ErrUnavailable, s.why())
	}
	defer g.exit()
	c := g.gate.enter(ctx)
	if c == causeNone {
		var text []byte
		text, err = g.metrics(ctx)
		g.gate.leave()
		if err == nil {
			return text, nil
		}
		c = causeOf(context.WithoutCancel(ctx), ctx, err)
	}
	if c == causeNone {
		return nil, fmt.Errorf("metrics of plugin %q: %w", name, err)
	}
	return nil, fmt.Errorf("metrics of plugin %q: %w", name, &callError{s.kind, s.name, c, err})
}

// metrics asks the instance, behind the guard of one that is compiled in.
func (g *generation) metrics(ctx context.Context) ([]byte, error) {
	ask := func() ([]byte, error) { return g.instance.Metrics(ctx) }
	if g.guard != nil {
		return result(ctx, g.guard, ask)
	}
	return ask()
}
