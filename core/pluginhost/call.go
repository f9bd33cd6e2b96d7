package pluginhost

import (
	"context"
	"fmt"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// callError is how a call through a handle fails: as its cause's sentinel, and as
// what the plugin said.
type callError struct {
	kind  plugin.Kind
	name  string
	cause cause
	err   error // nil: the cause says all
}

func (e *callError) Error() string {
	text := string(e.kind) + " " + e.name + ": " + causeNames[e.cause]
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

func (e *callError) Unwrap() []error {
	if e.err == nil {
		return []error{e.cause.sentinel()}
	}
	return []error{e.cause.sentinel(), e.err}
}

// fail makes the error of a call and counts it.
func (s *slot) fail(c cause, err error) error {
	s.m.errors[c].Add(1)
	return &callError{s.kind, s.name, c, err}
}

// call asks the generation in service, within the plugin's deadline. If that one
// ended in the call and another serves, or is about to, it is asked once: all calls
// can be repeated.
func (s *slot) call(caller context.Context, f func(ctx context.Context, g *generation) error) error {
	ctx, cancel := context.WithTimeout(caller, time.Duration(s.timeout.Load()))
	defer cancel()
	begin := s.host.o.Clock.Now()
	defer func() { s.m.seconds.Observe(s.host.o.Clock.Now().Sub(begin).Seconds()) }()
	s.m.calls.Add(1)
	g := s.enter(ctx, nil)
	if g == nil {
		return s.absent(caller)
	}
	c, err := s.attempt(caller, ctx, g, f)
	if c == causeGone && ctx.Err() == nil {
		if next := s.enter(ctx, g); next != nil {
			s.m.retries.Add(1)
			c, err = s.attempt(caller, ctx, next, f)
		}
	}
	if c == causeNone {
		return err // nil, the caller's own end, or a feature that the plugin lacks
	}
	return s.fail(c, err)
}

// absent is the error while nobody serves.
func (s *slot) absent(caller context.Context) error {
	if err := caller.Err(); err != nil {
		return err
	}
	return s.fail(causeUnavailable, s.why())
}

// enter counts the call into the generation that serves, other than not. It waits,
// as long as ctx lets it, only if one is known to come at once: the generation that
// an upgrade replaced, when the upgrade crashes. nil: nobody serves.
func (s *slot) enter(ctx context.Context, not *generation) *generation {
	for {
		changed := s.changes()
		if g := s.current.Load(); g != nil && g != not && !g.dead() {
			if g.enter() {
				return g
			}
			continue // it was retired after the next one was put in its place
		}
		if !s.imminent.Load() {
			if next := s.current.Load(); next != nil && next != not && !next.dead() {
				continue // it came just now
			}
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// attempt asks one generation, which the call has entered, and counts the call out.
func (s *slot) attempt(caller, ctx context.Context, g *generation, f func(ctx context.Context, g *generation) error) (cause, error) {
	defer g.exit()
	g.calls.Add(1)
	if !g.breaker.allows() {
		g.failures.Add(1)
		return causeBreaker, nil
	}
	if c := g.gate.enter(ctx); c != causeNone {
		if err := caller.Err(); err != nil {
			return causeNone, err
		}
		g.failures.Add(1)
		return c, nil
	}
	err := f(ctx, g)
	g.gate.leave()
	c := causeOf(caller, ctx, err)
	s.note(g, c)
	if c == causeNone && err != nil && caller.Err() != nil {
		return c, caller.Err()
	}
	return c, err
}

// note counts the outcome of a call for breaker and bake time.
func (s *slot) note(g *generation, c cause) {
	if c == causeNone {
		g.breaker.success()
		return
	}
	g.failures.Add(1)
	if !c.breaks() {
		g.breaker.success()
		return
	}
	if g.breaker.failure(s.host.o.Clock.Now()) {
		s.host.o.Log.Warn("plugin does not answer: its breaker is open", "plugin", s.name, "generation", g.number, "cause", causeNames[c])
		s.rouse()
	}
}

// why says for people why nobody serves.
func (s *slot) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view.reason == "" {
		return fmt.Errorf("it is %s", s.view.state)
	}
	return fmt.Errorf("it is %s: %s", s.view.state, s.view.reason)
}
