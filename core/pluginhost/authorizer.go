package pluginhost

import (
	"context"
	"fmt"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Authorizer is the handle of an authorizer: whoever is in service under its name
// answers, the form checked. With an error every Decision is the zero one, which
// denies. It also is an auth.RuleTaker: rules are kept and given to
// every generation whose plugin has auth.FeatureStore. It is safe for concurrent
// use.
type Authorizer struct{ handle }

// Authorizer gives the handle of a name; false: the catalogue has no such authorizer
// now. The handle is good anyway, and follows what the catalogue says later.
func (h *Host) Authorizer(name string) (*Authorizer, bool) {
	a := &Authorizer{handle{h, name, plugin.Authorizer}}
	return a, a.slot() != nil
}

// Authorize implements auth.Authorizer.
func (a *Authorizer) Authorize(ctx context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	clear(out)
	if len(out) != len(actions) || len(actions) > auth.MaxActions {
		return fmt.Errorf("authorizer %s asked for %d decisions on %d actions: at most %d", a.name, len(out), len(actions), auth.MaxActions)
	}
	s := a.slot()
	if s == nil {
		return a.missing()
	}
	err := s.call(ctx, func(ctx context.Context, g *generation) error {
		if err := s.lawful(g); err != nil {
			return err
		}
		if err := g.authorizer.Authorize(ctx, c, actions, out); err != nil {
			return err
		}
		return checkDecisions(out)
	})
	if err != nil {
		clear(out)
		return err
	}
	if len(actions) > 0 {
		s.recent.note(s.host.o.Clock.Now(), c, actions[0], out[0].Verdict)
	}
	return nil
}

// AuthorizeByResourceType implements auth.Authorizer.
func (a *Authorizer) AuthorizeByResourceType(ctx context.Context, c *auth.Client, op auth.Operation, t auth.ResourceType) (auth.Decision, error) {
	s := a.slot()
	if s == nil {
		return auth.Decision{}, a.missing()
	}
	out := make([]auth.Decision, 1)
	err := s.call(ctx, func(ctx context.Context, g *generation) (err error) {
		if err := s.lawful(g); err != nil {
			return err
		}
		if out[0], err = g.authorizer.AuthorizeByResourceType(ctx, c, op, t); err != nil {
			return err
		}
		return checkDecisions(out)
	})
	if err != nil {
		return auth.Decision{}, err
	}
	return out[0], nil
}

// lawful refuses decisions by rules that are no longer in force, or before there are
// any: a plugin may allow what no rule speaks of.
func (s *slot) lawful(g *generation) error {
	switch {
	case g.rules == nil:
		return nil
	case s.rules.Load() == nil:
		return fmt.Errorf("%w: it was not given the cluster's rules yet", plugin.ErrUnavailable)
	case g.taken.stale.Load():
		return fmt.Errorf("%w: it did not take the newest rules", plugin.ErrUnavailable)
	}
	return nil
}

var (
	_ auth.Authorizer = (*Authorizer)(nil)
	_ auth.RuleTaker  = (*Authorizer)(nil)
)
