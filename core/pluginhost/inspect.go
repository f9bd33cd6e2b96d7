package pluginhost

import (
	"context"
	"fmt"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// How a process shows that it lives.
const (
	healthEvery  = 5 * time.Second
	healthMisses = 3 // in a row: it hangs
	pushMisses   = 3 // in a row: it can't take the rules
	// memoryWarn is the part of the limit that is told once for each generation.
	memoryWarn = 0.8
)

// inspect looks after the generation that serves: memory, rules, breaker, health,
// bake time.
func (s *slot) inspect(g *generation, now time.Time) {
	steps := []func(*generation, time.Time) bool{s.weigh, s.repush, s.probe, s.ping}
	for _, step := range steps {
		if !step(g, now) {
			return
		}
	}
	if !s.bakeEnd.IsZero() {
		s.baking(g, now)
	} else if now.Sub(g.since) >= restartWindow {
		s.budget.recovered()
	}
}

// weigh looks at the memory of the process: one over its limit is replaced, calls
// and all. The steps of inspect are false when g serves no more.
func (s *slot) weigh(g *generation, _ time.Time) bool {
	rss, err := g.process.RSS()
	if err != nil {
		return true
	}
	s.m.memory.Set(int64(rss))
	limit := g.spec.MemoryMax
	warn := false
	s.update(func(v *view) {
		v.memory, v.memoryPeak = rss, max(v.memoryPeak, rss)
		if v.memoryFirst == 0 {
			v.memoryFirst = rss
		}
		warn = limit > 0 && float64(rss) > memoryWarn*float64(limit) && !v.memoryWarned
		v.memoryWarned = v.memoryWarned || warn
	})
	if warn {
		s.host.o.Log.Warn("plugin comes near its memory limit", "plugin", s.name, "generation", g.number, "bytes", rss, "limit", limit)
	}
	if limit == 0 || rss <= limit {
		return true
	}
	s.overweight(g, fmt.Errorf("%d bytes of memory, limit %d", rss, limit))
	return false
}

// overweight replaces a generation that is over its memory limit. The one over it
// serves until the next does, unless there are no restarts left.
func (s *slot) overweight(g *generation, reason error) {
	s.host.o.Log.Warn("plugin is over its memory limit", "plugin", s.name, "generation", g.number, "err", reason)
	if s.rollback(g, reason) {
		return
	}
	if _, ok := s.budget.spend(s.host.o.Clock.Now()); !ok {
		s.withdraw()
		s.schedule(reason)
		return
	}
	if err := s.replace(g); err != nil {
		s.withdraw()
		s.schedule(fmt.Errorf("%w; its next generation: %w", reason, err))
	}
}

// repush gives rules again to an authorizer that did not take them. One that does not
// take them three times in a row is started again.
func (s *slot) repush(g *generation, _ time.Time) bool {
	if !g.taken.stale.Load() {
		s.unruly = 0
		return true
	}
	ctx, cancel := context.WithTimeout(s.ctx, rulesMax)
	defer cancel()
	err := s.push(ctx, g)
	if err == nil || s.ctx.Err() != nil {
		s.unruly = 0
		s.say(s.stateNow(), "")
		return true
	}
	if s.unruly++; s.unruly < pushMisses || g.spec.Builtin != "" {
		s.say(s.stateNow(), err.Error())
		return true
	}
	s.unruly = 0
	s.lost(g, err)
	return false
}

// probe asks a generation whose breaker is open the canary question: half open. A
// process that fails it three times in a row hangs and is started again; a
// compiled-in plugin can't be.
func (s *slot) probe(g *generation, now time.Time) bool {
	if !s.bakeEnd.IsZero() || !g.breaker.due(now) {
		return true
	}
	ctx, cancel := context.WithTimeout(s.ctx, min(g.spec.timeout(), canaryMax))
	defer cancel()
	err := s.canary(ctx, g, nil)
	if s.ctx.Err() != nil {
		return false
	}
	failed := g.breaker.probed(err == nil, s.host.o.Clock.Now())
	switch {
	case err == nil:
		s.host.o.Log.Info("plugin answers again: its breaker is closed", "plugin", s.name, "generation", g.number)
		s.say(s.stateNow(), "")
	case failed >= breakerProbes && g.spec.Builtin == "":
		s.lost(g, fmt.Errorf("%d probes in a row failed, last: %w", failed, err))
		return false
	default:
		s.say(s.stateNow(), fmt.Sprintf("its breaker is open, the last probe failed: %v", err))
	}
	return true
}

// ping asks a process now and then whether it lives; one that does not answer three
// times in a row hangs and is started again.
func (s *slot) ping(g *generation, now time.Time) bool {
	if g.spec.Builtin != "" || now.Before(s.healthAt) {
		return true
	}
	s.healthAt = now.Add(healthEvery)
	ctx, cancel := context.WithTimeout(s.ctx, healthMax)
	defer cancel()
	err := g.process.Health(ctx)
	if err == nil || s.ctx.Err() != nil {
		s.unhealthy = 0
		return true
	}
	if s.unhealthy++; s.unhealthy < healthMisses {
		return true
	}
	s.lost(g, fmt.Errorf("%w: %d health checks in a row had no answer: %w", plugin.ErrUnavailable, s.unhealthy, err))
	return false
}
