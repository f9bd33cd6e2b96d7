package sdktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
)

// errSilent says that Watch told nothing in time.
var errSilent = errors.New("nothing is told within a second")

// watcher is one Watch that runs.
type watcher struct {
	events chan auth.Event
	ended  chan error
	cancel context.CancelFunc
	news   time.Duration // how long to wait for an event
}

// watch begins a Watch.
func (t *authorizerTalk) watch(ctx context.Context) *watcher {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{events: make(chan auth.Event), ended: make(chan error, 1), cancel: cancel, news: t.b.waits.news}
	go func() {
		w.ended <- t.b.guarded(ctx, func() error {
			return t.a.Watch(ctx, func(e auth.Event) error {
				select {
				case w.events <- e:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		})
	}()
	return w
}

// next is the next event.
func (w *watcher) next(ctx context.Context) (auth.Event, error) {
	late := time.NewTimer(w.news)
	defer late.Stop()
	select {
	case e := <-w.events:
		return e, nil
	case err := <-w.ended:
		w.ended <- err
		return auth.Event{}, fmt.Errorf("it ended: %v", err)
	case <-late.C:
		return auth.Event{}, errSilent
	case <-ctx.Done():
		return auth.Event{}, ctx.Err()
	}
}

// end cancels the Watch and wants it to end.
func (w *watcher) end() error {
	w.cancel()
	if err := <-w.ended; hangs(err) {
		return fmt.Errorf("a cancelled Watch: %w", err)
	}
	return nil
}

func checkWatch(ctx context.Context, b *bench) error {
	return authorizing(ctx, b, func(t *authorizerTalk) error {
		one, two := t.watch(ctx), t.watch(ctx)
		defer one.cancel()
		defer two.cancel()
		first, err := one.next(ctx)
		if err != nil {
			return err
		}
		second, err := two.next(ctx)
		if err != nil {
			return fmt.Errorf("a second one at once: %w", err)
		}
		if second.Epoch < first.Epoch {
			return fmt.Errorf("4: it tells epoch %d, and who comes later hears of %d", first.Epoch, second.Epoch)
		}
		if err := one.end(); err != nil {
			return err
		}
		later := t.watch(ctx)
		defer later.cancel()
		third, err := later.next(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("after another one ended: %w", err)
		case third.Epoch < first.Epoch:
			return fmt.Errorf("4: epochs go back from %d to %d", first.Epoch, third.Epoch)
		}
		return errors.Join(two.end(), later.end())
	})
}

func checkWatchFails(ctx context.Context, b *bench) error {
	return authorizing(ctx, b, func(t *authorizerTalk) error {
		gone := errors.New("nobody listens")
		short, cancel := context.WithTimeout(ctx, b.waits.news)
		defer cancel()
		err := t.b.guarded(ctx, func() error {
			return t.a.Watch(short, func(auth.Event) error { return gone })
		})
		switch {
		case err == nil:
			return errors.New("it returns no error: it says why it ended")
		case short.Err() != nil:
			return errors.New("it went on until its context ended")
		}
		return nil
	})
}

func checkChange(ctx context.Context, b *bench) error {
	change := b.subject.Facts.Change
	if change == nil {
		return skipped("the facts know no way to change the policy")
	}
	return authorizing(ctx, b, func(t *authorizerTalk) error {
		w := t.watch(ctx)
		defer w.cancel()
		last, err := w.next(ctx)
		if err != nil {
			return err
		}
		for range 2 {
			if err := change(ctx); err != nil {
				return fmt.Errorf("the change itself: %w", err)
			}
			e, err := w.next(ctx)
			switch {
			case err != nil:
				return fmt.Errorf("4: after a change: %w", err)
			case e.Epoch <= last.Epoch:
				return fmt.Errorf("4: epoch %d after %d", e.Epoch, last.Epoch)
			}
			last = e
		}
		return w.end()
	})
}
