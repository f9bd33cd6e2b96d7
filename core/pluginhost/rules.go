package pluginhost

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// ruleSet is the rules of the cluster's store as they were at one epoch.
type ruleSet struct {
	epoch uint64
	rules []auth.Rule
}

// taken is what an instance was given of the rules.
type taken struct {
	token chan struct{} // who puts it in gives rules to the plugin
	// set is nil before there are any. Who has the token changes it.
	set atomic.Pointer[ruleSet]
	// stale says that newer rules were not taken: it decides nothing until they are.
	stale atomic.Bool
}

// SetRules implements auth.RuleTaker: the rules are kept for every generation to
// come and given to the one in service. With an error that one decides nothing until
// it has taken them, which the supervisor tries again; but plugin.ErrUnsupported only
// says that it takes none. Older rules than the last are ignored.
func (a *Authorizer) SetRules(ctx context.Context, epoch uint64, rules []auth.Rule) error {
	s := a.slot()
	if s == nil {
		return a.missing()
	}
	g, newest := s.keepRules(&ruleSet{epoch, slices.Clone(rules)})
	if !newest {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rulesMax)
	defer cancel()
	switch {
	case g == nil:
		return nil
	case g.rules == nil:
		return fmt.Errorf("authorizer %s: rules: %w", s.name, plugin.ErrUnsupported)
	}
	return s.push(ctx, g)
}

// keepRules keeps rules for all generations to come and says who serves: whoever is
// published afterwards is held to them. false: there are newer ones. Rules that are
// there already are told again: whoever lacks them gets them.
func (s *slot) keepRules(next *ruleSet) (serves *generation, newest bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.rules.Load()
	if now != nil && now.epoch > next.epoch {
		return nil, false
	}
	if now == nil || now.epoch < next.epoch {
		s.rules.Store(next)
	}
	return s.current.Load(), true
}

// push gives the generation the newest rules unless it has them. There is one push
// at a time, so that an older one never comes after a newer.
func (s *slot) push(ctx context.Context, g *generation) error {
	if g.rules == nil {
		return nil
	}
	select {
	case g.taken.token <- struct{}{}:
		defer func() { <-g.taken.token }()
	case <-ctx.Done():
		g.taken.stale.Store(true)
		return s.unlawful(ctx.Err())
	}
	for set := s.rules.Load(); set != nil && g.taken.set.Load() != set; set = s.rules.Load() {
		if err := g.rules.SetRules(ctx, set.epoch, set.rules); err != nil {
			g.taken.stale.Store(true)
			return s.unlawful(err)
		}
		g.taken.set.Store(set)
	}
	g.taken.stale.Store(false)
	return nil
}

func (s *slot) unlawful(err error) error {
	return fmt.Errorf("authorizer %s did not take the rules: %w", s.name, err)
}
