package pluginhost

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// Try says what an entry would be, and nothing of it is left, whatever it is.
func TestTry(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.binary("/good", plugin.Partitioner, "1.0.0")
		w.binary("/old", plugin.Partitioner, "0.9.0")
		w.binary("/other", plugin.Retention, "1.0.0")
		w.binary("/picky", plugin.Partitioner, "1.0.0", func(p *fakeProcess) {
			p.validate = func(json.RawMessage) error { return errors.New("it wants another config") }
		})
		wanted := func(path string) *Spec {
			s := spec(plugin.Partitioner, path)
			s.Version = "1.0.0"
			return &s
		}
		if about, err := w.Try(t.Context(), wanted("/good")); err != nil || about.Name != "p" || about.Version != "1.0.0" {
			t.Errorf("%+v, %v", about, err)
		}
		for path, want := range map[string]string{
			"/old": `it says version "0.9.0"`, "/other": "has no partitioner", "/picky": "another config", "/nosuch": "no such file", "relative": "absolute path",
		} {
			if about, err := w.Try(t.Context(), wanted(path)); err == nil || !strings.Contains(err.Error(), want) || about.Name != "" {
				t.Errorf("%s: %+v, %v; want %q", path, about, err, want)
			}
		}
		for i := range w.starts() {
			if !w.process(i).ended() {
				t.Errorf("process %d lives on", i)
			}
		}
		if w.starts() != 4 || len(w.Status()) > 0 {
			t.Errorf("%d starts, entries %+v; want 4 and none", w.starts(), w.Status())
		}
	})
}

// What a real program wrote before it was refused is in the error.
func TestTryTellsLastWords(t *testing.T) {
	w := realWorld(t, Options{})
	s := badSpec(plugin.Partitioner, "serve", badConfig{})
	s.Config = json.RawMessage(`{"nosuch": 1}`)
	if _, err := w.Try(t.Context(), &s); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("%v", err)
	}
	exits := badSpec(plugin.Partitioner, "exit", badConfig{})
	if _, err := w.Try(t.Context(), &exits); err == nil || !strings.Contains(err.Error(), "ended before the handshake") {
		t.Errorf("%v", err)
	}
}
