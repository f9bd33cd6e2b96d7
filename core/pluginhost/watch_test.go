package pluginhost

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// watcher collects what a Watch of p tells.
type watcher struct {
	events []auth.Event
	ended  chan error
	cancel context.CancelFunc
}

func (w *world) watch() *watcher {
	ctx, cancel := context.WithCancel(context.Background())
	o := &watcher{ended: make(chan error, 1), cancel: cancel}
	h, _ := w.Authorizer("p")
	go func() {
		o.ended <- h.Watch(ctx, func(e auth.Event) error { o.events = append(o.events, e); return nil })
	}()
	synctest.Wait()
	return o
}

// stop ends the watch and returns why it ended.
func (o *watcher) stop() error { o.cancel(); return <-o.ended }

func (o *watcher) epochs() []uint64 {
	synctest.Wait()
	var all []uint64
	for _, e := range o.events {
		all = append(all, e.Epoch)
	}
	return all
}

// telling makes a process whose watch sends what comes through tell.
func telling(tell chan auth.Event) func(*fakeProcess) {
	return func(p *fakeProcess) {
		p.watch = func(ctx context.Context, send func(auth.Event) error) error {
			for {
				select {
				case e, ok := <-tell:
					if !ok {
						return errors.New("backend lost")
					}
					if err := send(e); err != nil {
						return err
					}
				case <-ctx.Done():
					return ctx.Err()
				case <-p.done:
					return plugin.ErrGone
				}
			}
		}
	}
}

// TestWatchOverUpgrades holds that epochs grow over generations that count anew, and
// that the upgrade itself is told.
func TestWatchOverUpgrades(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		one, two := make(chan auth.Event, 9), make(chan auth.Event, 9)
		w.binary("/v1", plugin.Authorizer, "1.0.0", telling(one))
		w.binary("/v2", plugin.Authorizer, "2.0.0", telling(two))
		w.must(spec(plugin.Authorizer, "/v1"))
		o := w.watch()
		rules := []auth.Rule{{Name: "t"}}
		one <- auth.Event{Epoch: 900}
		one <- auth.Event{Epoch: 900, Rules: rules} // the same policy, told again
		one <- auth.Event{Epoch: 950}
		if got := o.epochs(); !reflect.DeepEqual(got, []uint64{1, 1, 2}) || !reflect.DeepEqual(o.events[1].Rules, rules) {
			t.Errorf("epochs %v, want 1 1 2, with the rules", got)
		}
		w.must(spec(plugin.Authorizer, "/v2"))
		if got := o.epochs(); len(got) != 4 || got[3] <= got[2] {
			t.Errorf("epochs after the upgrade %v, want a greater one at once", got)
		}
		two <- auth.Event{Epoch: 1}
		if got := o.epochs(); len(got) != 5 || got[4] <= got[3] {
			t.Errorf("epochs %v, want a greater one for the first of the second generation", got)
		}
		w.process(1).kill(errKilled) // within the bake time: the first comes back
		if got := o.epochs(); len(got) != 6 || got[5] <= got[4] {
			t.Errorf("epochs after the rollback %v, want a greater one at once", got)
		}
		one <- auth.Event{Epoch: 950}
		if got := o.epochs(); len(got) != 7 {
			t.Errorf("epochs %v: who came back is not watched", got)
		}
		if err := o.stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the end of the watcher", err)
		}
	})
}

// TestWatchEndsWhenBlind lists what ends a watch: the watcher must know at once that
// nobody tells it of the policy.
func TestWatchEndsWhenBlind(t *testing.T) {
	cases := map[string]struct {
		then func(w *world, tell chan auth.Event)
		want error
	}{
		"crash":     {func(w *world, _ chan auth.Event) { w.process(0).kill(errKilled) }, ErrUnavailable},
		"disabled":  {func(w *world, _ chan auth.Event) { e := spec(plugin.Authorizer, "/v1"); e.Enabled = false; w.must(e) }, ErrUnavailable},
		"gone":      {func(w *world, _ chan auth.Event) { w.Apply(w.t.Context(), nil) }, ErrNotFound},
		"ends":      {func(_ *world, tell chan auth.Event) { close(tell) }, ErrUnavailable},
		"goes back": {func(_ *world, tell chan auth.Event) { tell <- auth.Event{Epoch: 3} }, ErrBadAnswer},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				tell := make(chan auth.Event, 9)
				w.binary("/v1", plugin.Authorizer, "1.0.0", telling(tell))
				w.must(spec(plugin.Authorizer, "/v1"))
				o := w.watch()
				tell <- auth.Event{Epoch: 7}
				synctest.Wait()
				begin := time.Now()
				c.then(w, tell)
				if err := <-o.ended; !errors.Is(err, c.want) || time.Since(begin) != 0 {
					t.Errorf("%v after %v, want %v at once", err, time.Since(begin), c.want)
				}
			})
		})
	}
}

// TestWatchWaitsForSomebody holds that a new watch waits for a restart, but not for
// ever, nor for a plugin that says nothing.
func TestWatchWaitsForSomebody(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Authorizer, "1.0.0")
		w.must(spec(plugin.Authorizer, "/v1"))
		w.process(0).kill(errKilled)
		o := w.watch()
		time.Sleep(time.Second) // the restart
		if got := o.epochs(); len(got) != 1 {
			t.Errorf("epochs %v, want that of the restarted plugin", got)
		}
		_ = o.stop()

		e := spec(plugin.Authorizer, "/v1")
		e.Enabled = false
		w.must(e)
		o = w.watch()
		begin := time.Now()
		if err := <-o.ended; !errors.Is(err, ErrUnavailable) || time.Since(begin) != watchGrace {
			t.Errorf("with nobody: %v after %v, want ErrUnavailable after %v", err, time.Since(begin), watchGrace)
		}

		w.binary("/silent", plugin.Authorizer, "1.0.0", telling(make(chan auth.Event)))
		w.must(spec(plugin.Authorizer, "/silent"))
		o = w.watch()
		begin = time.Now()
		if err := <-o.ended; !errors.Is(err, ErrUnavailable) || time.Since(begin) != watchGrace {
			t.Errorf("of one that says nothing: %v after %v, want ErrUnavailable after %v", err, time.Since(begin), watchGrace)
		}
	})
}
