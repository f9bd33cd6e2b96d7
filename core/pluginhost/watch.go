package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// watchGrace is how long a watcher waits for somebody to serve, and for the first
// event of who does.
const watchGrace = 10 * time.Second

// errBlind ends a watch that has nobody to watch.
var errBlind = fmt.Errorf("%w: nobody tells of the policy", plugin.ErrUnavailable)

// Watch implements auth.Authorizer over upgrades: when the next generation is in
// service it is watched in place of the one before. Epochs are the handle's own, so
// that they never repeat: each new generation begins with a greater one, before it
// has said anything, which makes the broker forget what the one before allowed.
//
// Watch returns when ctx is done, when send fails, when the plugin ends its watch,
// and with ErrUnavailable as soon as nobody serves: what a caller remembers is then
// no longer kept up to date. A new Watch waits for somebody for up to 10 s.
func (a *Authorizer) Watch(ctx context.Context, send func(auth.Event) error) error {
	w := watch{send: send}
	for {
		s := a.slot()
		if s == nil {
			return a.missing()
		}
		if err := w.once(ctx, s); err != nil {
			return fmt.Errorf("authorizer %s: watch: %w", a.name, err)
		}
	}
}

// watch is one caller of Watch.
type watch struct {
	send  func(auth.Event) error
	epoch uint64 // of the last event that was sent; 0: none was
}

// once watches the generation that serves until the next one does. An error ends the
// watch.
func (w *watch) once(ctx context.Context, s *slot) error {
	changed, g := s.changes(), s.current.Load()
	if g == nil || g.dead() {
		return w.next(ctx, s, changed, errBlind)
	}
	if w.epoch > 0 {
		w.epoch++
		if err := w.send(auth.Event{Epoch: w.epoch}); err != nil {
			return err
		}
	}
	err := w.follow(ctx, s, g)
	if errors.Is(err, plugin.ErrGone) && ctx.Err() == nil {
		return w.next(ctx, s, changed, err)
	}
	return err
}

// next goes on if another generation serves, or is about to; else the watch ends with
// lost, unless it has told nothing yet.
func (w *watch) next(ctx context.Context, s *slot, changed <-chan struct{}, lost error) error {
	if w.epoch == 0 || s.imminent.Load() {
		return w.wait(ctx, changed)
	}
	select {
	case <-changed:
		return nil
	default:
		return lost
	}
}

// wait waits for another generation.
func (w *watch) wait(ctx context.Context, changed <-chan struct{}) error {
	t := time.NewTimer(watchGrace)
	defer t.Stop()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return errBlind
	}
}

// follow sends what the generation tells until it is over, as fast as news may come.
func (w *watch) follow(ctx context.Context, s *slot, g *generation) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	events, done := make(chan auth.Event), make(chan error, 1)
	go func() { done <- g.tell(inner, events) }()
	first := time.NewTimer(watchGrace)
	defer first.Stop()
	next := time.NewTimer(watchGrace) // when news are taken again
	next.Stop()
	defer next.Stop()
	var last *uint64
	for open := events; ; {
		select {
		case <-next.C:
			open = events
		case e := <-open:
			first.Stop()
			if last != nil && e.Epoch < *last {
				return fmt.Errorf("%w: policy epoch %d after %d", ErrBadAnswer, e.Epoch, *last)
			}
			if last == nil || e.Epoch > *last {
				w.epoch++
			}
			last = &e.Epoch
			if err := w.send(auth.Event{Epoch: w.epoch, Rules: e.Rules}); err != nil {
				return err
			}
			now := s.host.o.Clock.Now()
			if wait := s.news.ReserveN(now, newsCost(&e)).DelayFrom(now); wait > 0 {
				open = nil
				next.Reset(wait)
			}
		case <-g.over:
			return nil
		case err := <-done:
			select {
			case <-g.over:
				return nil
			default:
				return errors.Join(errBlind, err)
			}
		case <-first.C:
			return errBlind
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell has the plugin's watch send into events until ctx is done, and gives up on a
// plugin that does not stop then.
func (g *generation) tell(ctx context.Context, events chan<- auth.Event) error {
	return guarded(ctx, func() error {
		return g.authorizer.Watch(ctx, func(e auth.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
}
