package pluginhost

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestRollback lists what takes an upgrade back within its bake time: at once, and
// without a call lost where that can be.
func TestRollback(t *testing.T) {
	cases := map[string]struct {
		fault func(p *fakeProcess)
		text  string
		lossy bool // calls fail before it is known that the upgrade is bad
	}{
		"crash":       {fault: func(p *fakeProcess) { p.kill(errKilled) }, text: "its process ended: signal: killed"},
		"too large":   {fault: func(p *fakeProcess) { p.rss.Store(65 << 20) }, text: "68157440 bytes of memory, limit 67108864"},
		"errors":      {fault: func(p *fakeProcess) { p.fault(func(context.Context) error { return errors.New("no") }) }, text: "calls failed within the bake time", lossy: true},
		"hangs":       {fault: func(p *fakeProcess) { p.hung.Store(true) }, text: "its breaker opened", lossy: true},
		"bad answers": {fault: func(p *fakeProcess) { p.fault(func(context.Context) error { return plugin.ErrBadAnswer }) }, text: "its breaker opened", lossy: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				kind := plugin.Authorizer
				w.binary("/v1", kind, "1.0.0")
				w.binary("/v2", kind, "2.0.0")
				v1, v2 := spec(kind, "/v1"), spec(kind, "/v2")
				v1.MemoryMax, v2.MemoryMax = 64<<20, 64<<20
				w.must(v1)
				w.must(v2)
				if s := w.state(); s.State != Baking || s.Version != "2.0.0" || s.BakeUntil.IsZero() {
					t.Fatalf("after the upgrade: %+v", s)
				}
				time.Sleep(5 * time.Second)
				c.fault(w.process(1))
				failed := 0
				for begin := time.Now(); time.Since(begin) < 3*time.Second; time.Sleep(20 * time.Millisecond) {
					if w.ask(t.Context(), kind) != nil {
						failed++
					}
				}
				if failed > 0 != c.lossy {
					t.Errorf("%d calls failed, lossy is %t", failed, c.lossy)
				}
				s := w.state()
				if s.State != Serving || s.Version != "1.0.0" || !strings.Contains(s.Reason, c.text) {
					t.Errorf("state %s, version %s, reason %q, want the first version and %q", s.State, s.Version, s.Reason, c.text)
				}
				if w.starts() != 2 {
					t.Errorf("%d starts, want 2: what stood by comes back as it is", w.starts())
				}
				synctest.Wait()
				// The catalogue says version 2 again: it is not tried again by itself.
				if err := w.apply(v2); !errors.Is(err, ErrRolledBack) || w.starts() != 2 {
					t.Errorf("the same entry: %v after %d starts, want ErrRolledBack after 2", err, w.starts())
				}
				if !w.process(1).ended() || w.process(0).ended() {
					t.Error("the wrong process was stopped")
				}
			})
		})
	}
}

// TestNoWorseThanBefore holds that an upgrade is not taken back for what the version
// before did too.
func TestNoWorseThanBefore(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		broken := func(p *fakeProcess) {
			n := 0
			p.fault(func(context.Context) error {
				if n++; n > 1 && n%2 == 0 {
					return errors.New("no")
				}
				return nil
			})
		}
		w.binary("/v1", kind, "1.0.0", broken)
		w.binary("/v2", kind, "2.0.0", broken)
		w.must(spec(kind, "/v1"))
		for range 50 {
			_ = w.ask(t.Context(), kind) // every second one fails
		}
		w.must(spec(kind, "/v2"))
		for range 50 {
			_ = w.ask(t.Context(), kind)
		}
		time.Sleep(31 * time.Second)
		if s := w.state(); s.Version != "2.0.0" || s.State != Serving {
			t.Errorf("state %s, version %s (%s), want the second version trusted", s.State, s.Version, s.Reason)
		}
	})
}

// TestAfterTheBakeTime holds that what stood by is stopped, that a crash then starts
// the new version again, and that Rollback goes back.
func TestAfterTheBakeTime(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Retention
		w.binary("/v1", kind, "1.0.0")
		w.binary("/v2", kind, "2.0.0")
		v1, v2 := spec(kind, "/v1"), spec(kind, "/v2")
		v1.Version, v2.Version = "1.0.0", "2.0.0"
		w.must(v1)
		if _, err := w.Rollback(t.Context(), "p"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("rollback of a first version: %v, want ErrUnavailable", err)
		}
		w.must(v2)
		time.Sleep(31 * time.Second)
		if s := w.state(); s.State != Serving || s.Previous != "1.0.0" || !w.process(0).ended() {
			t.Errorf("after the bake time: %+v", s)
		}
		w.process(1).kill(errKilled)
		time.Sleep(time.Second)
		if s := w.state(); s.Version != "2.0.0" || s.State != Serving || w.starts() != 3 {
			t.Errorf("after a crash: %+v", s)
		}
		back, err := w.Rollback(t.Context(), "p")
		if err != nil || back.Path != "/v1" || w.state().Version != "1.0.0" {
			t.Errorf("rollback: %v to %s, version %s serves", err, back.Path, w.state().Version)
		}
		w.must(v1) // the catalogue follows: nothing happens
		if w.starts() != 4 {
			t.Errorf("%d starts, want 4", w.starts())
		}
	})
}

// TestRollbackWithinTheBakeTime is an operator's, and no error in the log.
func TestRollbackWithinTheBakeTime(t *testing.T) {
	var log bytes.Buffer
	o := Options{Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	inWorld(t, o, func(t *testing.T, w *world) {
		kind := plugin.Partitioner
		w.binary("/v1", kind, "1.0.0")
		w.binary("/v2", kind, "2.0.0")
		w.must(spec(kind, "/v1"))
		w.must(spec(kind, "/v2"))
		back, err := w.Rollback(t.Context(), "p")
		if s := w.state(); err != nil || back.Path != "/v1" || w.starts() != 2 || s.Version != "1.0.0" || s.Reason != "" {
			t.Errorf("rollback: %v to %q after %d starts, version %s (%q)", err, back.Path, w.starts(), s.Version, s.Reason)
		}
		w.must(back)
		if err := w.ask(t.Context(), kind); err != nil || w.starts() != 2 {
			t.Errorf("%v after %d starts", err, w.starts())
		}
		if log.Len() > 0 {
			t.Errorf("logged %s", log.String())
		}
	})
}

// TestStandbyDies holds that an upgrade whose predecessor is gone is simply started
// again when it crashes.
func TestStandbyDies(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Partitioner
		w.binary("/v1", kind, "1.0.0")
		w.binary("/v2", kind, "2.0.0")
		w.must(spec(kind, "/v1"))
		w.must(spec(kind, "/v2"))
		w.process(0).kill(errKilled)
		w.process(1).kill(errKilled)
		time.Sleep(time.Second)
		if s := w.state(); s.Version != "2.0.0" || s.State != Serving || w.starts() != 3 {
			t.Errorf("status %+v after %d starts", s, w.starts())
		}
	})
}
