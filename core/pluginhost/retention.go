package pluginhost

import (
	"context"
	"fmt"

	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Retention is the handle of a retention: whoever is in service under its name
// answers. An answer that names what was not asked for, another epoch, or more
// segments than there are counts as none. With an error everything is kept. It is
// safe for concurrent use.
type Retention struct{ handle }

// Retention gives the handle of a name; false: the catalogue has no such retention
// now. The handle is good anyway, and follows what the catalogue says later.
func (h *Host) Retention(name string) (*Retention, bool) {
	r := &Retention{handle{h, name, plugin.Retention}}
	return r, r.slot() != nil
}

// Decide implements storage.Retention. What the facts point to must not change
// afterwards; the facts themselves may.
func (r *Retention) Decide(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	if len(logs) > storage.MaxLogs {
		return nil, fmt.Errorf("retention %s asked about %d logs, at most %d", r.name, len(logs), storage.MaxLogs)
	}
	s := r.slot()
	if s == nil {
		return nil, r.missing()
	}
	var verdicts []storage.Verdict
	err := s.call(ctx, func(ctx context.Context, g *generation) (err error) {
		if verdicts, err = g.retention.Decide(ctx, logs); err != nil {
			return err
		}
		return checkVerdicts(logs, verdicts)
	})
	if err != nil {
		return nil, err
	}
	return verdicts, nil
}

var _ storage.Retention = (*Retention)(nil)
