package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// tickEvery is how often a supervisor looks after what serves.
const tickEvery = time.Second

// run is the supervisor: it alone starts, replaces and ends generations.
func (s *slot) run() {
	defer close(s.done)
	for {
		var exited <-chan struct{}
		if g := s.current.Load(); g != nil {
			exited = g.process.Done()
		}
		select {
		case <-s.ctx.Done():
			s.shutdown()
			return
		case f := <-s.orders:
			f()
		case <-exited:
			s.crashed()
		case <-s.wake:
			s.tick()
		}
		s.rearm()
	}
}

// rearm sets the timer to what is due next.
func (s *slot) rearm() {
	wait := tickEvery
	if !s.restartAt.IsZero() {
		wait = min(wait, s.restartAt.Sub(s.host.o.Clock.Now()))
	}
	s.timer.Reset(max(wait, 0))
}

// tick does what is due.
func (s *slot) tick() {
	now := s.host.o.Clock.Now()
	if !s.restartAt.IsZero() && !now.Before(s.restartAt) {
		s.restart()
		return
	}
	if g := s.current.Load(); g != nil && !g.dead() {
		s.inspect(g, now)
	}
}

// apply makes the entry what is wanted. It returns why it does not serve.
func (s *slot) apply(spec *Spec) error {
	if s.desired != nil && s.desired.same(spec) {
		s.desired = spec
		s.update(func(v *view) { v.desired = spec })
		if s.outcome == nil && spec.Enabled && s.current.Load() == nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, s.why())
		}
		return s.outcome
	}
	s.desired, s.outcome = spec, nil
	s.update(func(v *view) { v.desired = spec })
	g := s.current.Load()
	switch {
	case !spec.Enabled:
		s.disable()
		return nil
	case g != nil && !g.dead() && g.spec.same(spec):
		s.say(s.stateNow(), "")
		return nil
	}
	s.outcome = s.upgrade(spec)
	return s.outcome
}

// upgrade brings spec into service in place of what serves, which stays if that
// goes wrong.
func (s *slot) upgrade(spec *Spec) error {
	old := s.current.Load()
	if old == nil {
		s.budget = budget{}
		s.say(Starting, "")
	}
	g, err := s.start(s.ctx, spec, old)
	if err != nil {
		s.refuse(spec, old, err)
		return err
	}
	s.restartAt, s.budget = time.Time{}, budget{}
	if s.active != nil && s.served {
		s.previous = s.active
	}
	s.active, s.served = spec, true
	s.serve(g, old)
	s.host.o.Log.Info("plugin serves", "plugin", s.name, "kind", s.kind, "version", g.about.Version, "generation", g.number)
	return nil
}

// refuse takes note of an upgrade, or a first start, that went wrong.
func (s *slot) refuse(spec *Spec, old *generation, err error) {
	s.host.o.Log.Error("plugin did not get into service", "plugin", s.name, "kind", s.kind, "version", spec.Version, "err", err)
	switch {
	case old != nil:
		s.say(s.stateNow(), fmt.Sprintf("upgrade did not get into service, the version before serves on: %v", err))
	case s.active != nil && s.served && !s.restartAt.IsZero():
		s.say(Restarting, fmt.Sprintf("upgrade did not get into service: %v", err))
	case permanent(err):
		s.active = nil
		s.say(Failed, err.Error())
	default:
		s.active, s.served = spec, false
		s.schedule(err)
	}
}

// serve puts g into service in place of old, which becomes the standby for the bake
// time.
func (s *slot) serve(g, old *generation) {
	s.dismiss(s.standby.Swap(nil))
	s.unhealthy, s.healthAt = 0, g.since.Add(healthEvery)
	s.bakeEnd = time.Time{}
	s.imminent.Store(false)
	if old != nil && !old.dead() && s.host.o.Bake > 0 {
		s.bakeEnd, s.before = g.since.Add(s.host.o.Bake), totalsOf(old)
		s.standby.Store(old)
		s.imminent.Store(true)
	}
	s.publish(g)
	s.say(s.stateNow(), "")
	s.keep(g)
	if old == nil {
		return
	}
	old.retire()
	if s.standby.Load() != old {
		s.dismiss(old)
	}
}

// crashed answers to the end of the process that serves.
func (s *slot) crashed() {
	g := s.current.Load()
	s.m.crashes.Add(1)
	s.lost(g, fmt.Errorf("its process ended: %v", g.process.ExitError()))
}

// lost takes a generation out of service that can't go on: the standby comes back,
// or it is started again.
func (s *slot) lost(g *generation, reason error) {
	s.host.o.Log.Error("plugin is lost", "plugin", s.name, "kind", s.kind, "generation", g.number, "err", reason)
	if s.rollback(g, reason) {
		return
	}
	s.withdraw()
	s.schedule(reason)
}

// withdraw leaves nobody in service.
func (s *slot) withdraw() {
	g := s.current.Load()
	s.bakeEnd = time.Time{}
	s.imminent.Store(false)
	s.publish(nil)
	s.m.memory.Set(0)
	s.dismiss(s.standby.Swap(nil))
	if g != nil {
		g.retire()
		s.dismiss(g)
	}
}

// schedule plans the next start, or gives up.
func (s *slot) schedule(reason error) {
	now := s.host.o.Clock.Now()
	wait, ok := s.budget.spend(now)
	if !ok {
		s.restartAt, s.active = time.Time{}, nil
		s.outcome = fmt.Errorf("%w: it ended more than %d times within %v, last: %w", ErrUnavailable, restartsMax, restartWindow, reason)
		s.say(Failed, s.outcome.Error())
		s.host.o.Log.Error("plugin is given up on; enable or restart it when the cause is gone", "plugin", s.name, "kind", s.kind, "err", reason)
		return
	}
	s.restartAt = now.Add(wait)
	s.say(Restarting, reason.Error())
}

// restart starts active again when its time has come.
func (s *slot) restart() {
	s.restartAt = time.Time{}
	s.m.restarts.Add(1)
	s.update(func(v *view) { v.restarts++ })
	g, err := s.start(s.ctx, s.active, nil)
	switch {
	case err == nil:
		s.served = true
		if s.desired.same(s.active) {
			s.outcome = nil
		}
		s.serve(g, nil)
		s.host.o.Log.Info("plugin serves again", "plugin", s.name, "kind", s.kind, "generation", g.number)
	case s.ctx.Err() != nil:
	case permanent(err) && !s.served:
		s.active, s.outcome = nil, err
		s.say(Failed, err.Error())
	default:
		s.schedule(err)
	}
}

// disable ends everything and starts nothing.
func (s *slot) disable() {
	s.active, s.restartAt = nil, time.Time{}
	s.withdraw()
	s.say(Disabled, "")
}

// renew replaces what serves with a new generation of the same entry, or tries again
// what is wanted, if that does not serve: an operator's restart.
func (s *slot) renew() error {
	s.budget = budget{}
	old := s.current.Load()
	nobody := old == nil || old.dead()
	switch {
	case nobody && (s.desired == nil || !s.desired.Enabled):
		return fmt.Errorf("%s is not enabled: %w", s.name, ErrUnavailable)
	case nobody || s.outcome != nil:
		s.outcome = s.upgrade(s.desired)
		return s.outcome
	}
	return s.replace(old)
}

// replace puts a new generation of the same entry in the place of old, without a
// bake time.
func (s *slot) replace(old *generation) error {
	g, err := s.start(s.ctx, old.spec, old)
	if err != nil {
		return err
	}
	s.m.restarts.Add(1)
	s.update(func(v *view) { v.restarts++ })
	s.bakeEnd = time.Time{}
	s.imminent.Store(false)
	s.dismiss(s.standby.Swap(nil))
	s.publish(g)
	s.unhealthy, s.healthAt = 0, g.since.Add(healthEvery)
	s.say(s.stateNow(), "")
	old.retire()
	s.dismiss(old)
	return nil
}

// dismiss ends a retired generation beside the supervisor: its calls have the
// plugin's deadline and some more, then it is stopped.
func (s *slot) dismiss(g *generation) {
	if g == nil {
		return
	}
	s.ending.Go(func() {
		idle := g.drained(s.host.hard, g.spec.timeout()+drainExtra)
		if !idle {
			s.host.o.Log.Warn("plugin is stopped with calls in flight", "plugin", s.name, "generation", g.number, "calls", g.inFlight())
		}
		ctx, cancel := context.WithTimeout(s.host.hard, stopMax)
		defer cancel()
		if err := g.stop(ctx, idle); err != nil && !errors.Is(err, context.Canceled) {
			s.host.o.Log.Warn("plugin did not stop well", "plugin", s.name, "generation", g.number, "err", err)
		}
	})
}

// shutdown ends everything and waits for it.
func (s *slot) shutdown() {
	s.timer.Stop()
	s.withdraw()
	s.say(Stopped, "")
	s.ending.Wait()
}
