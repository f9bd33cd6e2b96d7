package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// When an upgrade is taken back within its bake time.
const (
	bakeCalls   = 20  // fewer say nothing
	bakeFailing = 0.1 // share of failed calls
	bakeWorse   = 2   // times the share of the version before
)

// totals are calls and how many of them failed.
type totals struct{ calls, failures uint64 }

func totalsOf(g *generation) totals { return totals{g.calls.Load(), g.failures.Load()} }

// share is the part that failed.
func (r totals) share() float64 {
	if r.calls == 0 {
		return 0
	}
	return float64(r.failures) / float64(r.calls)
}

// baking looks at an upgrade in its bake time: it is taken back if it does worse than
// what it replaced, and trusted at the end.
func (s *slot) baking(g *generation, now time.Time) {
	r := totalsOf(g)
	standby := s.standby.Load()
	switch {
	case standby == nil || standby.dead() || !now.Before(s.bakeEnd):
		s.bakeEnd = time.Time{}
		s.imminent.Store(false)
		s.dismiss(s.standby.Swap(nil))
		s.say(Serving, "")
	case !g.breaker.allows():
		s.rollback(g, errors.New("its breaker opened within the bake time"))
	case r.calls >= bakeCalls && r.share() > bakeFailing && r.share() > bakeWorse*s.before.share():
		s.rollback(g, fmt.Errorf("%d of %d calls failed within the bake time", r.failures, r.calls))
	}
}

// rollback puts the standby back in the place of g; false: there is none.
func (s *slot) rollback(g *generation, reason error) bool {
	standby := s.standby.Load()
	if standby == nil || standby.dead() {
		return false
	}
	back := standby.successor(s.number.Add(1), s.host.o.Clock.Now())
	// If it does not take the newest rules, it answers nothing until it does.
	ctx, cancel := context.WithTimeout(s.ctx, rulesMax)
	_ = s.push(ctx, back)
	cancel()
	s.active, s.previous = back.spec, nil
	s.outcome = fmt.Errorf("%w: %w", ErrRolledBack, reason)
	s.standby.Store(nil)
	s.bakeEnd = time.Time{}
	s.publish(back)
	s.imminent.Store(false) // not before: calls wait for who was published
	s.unhealthy, s.healthAt = 0, back.since.Add(healthEvery)
	s.m.rollbacks.Add(1)
	s.say(Serving, s.outcome.Error())
	level := slog.LevelError
	if errors.Is(reason, errAsked) {
		level = slog.LevelInfo
	}
	s.host.o.Log.Log(s.ctx, level, "plugin upgrade is rolled back", "plugin", s.name, "kind", s.kind, "from", g.about.Version, "to", back.about.Version, "err", reason)
	g.retire()
	s.dismiss(g)
	return true
}

// revert is an operator's rollback: to the standby, or to what served before.
func (s *slot) revert() (*Spec, error) {
	g := s.current.Load()
	if g != nil && s.standby.Load() != nil && s.rollback(g, errAsked) {
		s.desired, s.outcome = s.active, nil
		s.update(func(v *view) { v.desired = s.desired })
		s.say(s.stateNow(), "") // it is what is wanted now
		return s.active, nil
	}
	if s.previous == nil {
		return nil, fmt.Errorf("%s has no version to go back to: %w", s.name, ErrUnavailable)
	}
	spec, desired, outcome := s.previous, s.desired, s.outcome
	err := s.apply(spec)
	if err != nil && g != nil { // what is wanted is what it was
		s.desired, s.outcome = desired, outcome
		s.update(func(v *view) { v.desired = desired })
		if outcome == nil {
			s.say(s.stateNow(), "")
		}
	}
	return spec, err
}
