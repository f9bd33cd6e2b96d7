package pluginhost

import (
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestRestartTriesAFailedUpgradeAgain holds that an operator's restart brings the wanted
// version into service once the cause is gone on this broker: its program was missing,
// or it broke in its bake time. What serves meanwhile serves until then.
func TestRestartTriesAFailedUpgradeAgain(t *testing.T) {
	kind := plugin.Authorizer
	serves := func(t *testing.T, w *world, version, reason string) {
		t.Helper()
		s := w.state()
		if s.Version != version || !strings.Contains(s.Reason, reason) || reason == "" && s.Reason != "" {
			t.Errorf("version %s (%q), want %s with %q", s.Version, s.Reason, version, reason)
		}
		if err := w.ask(t.Context(), kind); err != nil {
			t.Errorf("a call: %v", err)
		}
	}
	t.Run("its program was missing", func(t *testing.T) {
		inWorld(t, Options{}, func(t *testing.T, w *world) {
			w.binary("/v1", kind, "1.0.0")
			w.must(spec(kind, "/v1"))
			if err := w.apply(spec(kind, "/v2")); err == nil {
				t.Error("a program that is not there serves")
			}
			serves(t, w, "1.0.0", "no such file")
			if err := w.Restart(t.Context(), "p"); err == nil {
				t.Error("it is tried again and serves without a program")
			}
			serves(t, w, "1.0.0", "no such file")
			w.binary("/v2", kind, "2.0.0")
			if err := w.Restart(t.Context(), "p"); err != nil {
				t.Errorf("restart: %v", err)
			}
			serves(t, w, "2.0.0", "")
			if err := w.Restart(t.Context(), "p"); err != nil || w.state().Restarts != 1 || w.state().Version != "2.0.0" {
				t.Errorf("another restart: %v, %+v", err, w.state())
			}
		})
	})
	t.Run("it broke in its bake time", func(t *testing.T) {
		inWorld(t, Options{}, func(t *testing.T, w *world) {
			w.binary("/v1", kind, "1.0.0")
			w.binary("/v2", kind, "2.0.0")
			w.must(spec(kind, "/v1"))
			w.must(spec(kind, "/v2"))
			w.process(-1).kill(errKilled)
			time.Sleep(time.Second)
			serves(t, w, "1.0.0", ErrRolledBack.Error())
			if err := w.Restart(t.Context(), "p"); err != nil {
				t.Errorf("restart: %v", err)
			}
			serves(t, w, "2.0.0", "")
		})
	})
}
