package pluginhost

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestTry holds that an entry can be looked at without a place in the catalogue, and
// that nothing of that stays.
func TestTry(t *testing.T) {
	cases := map[string]struct {
		spec func(*Spec)
		make func(*fakeProcess)
		want error
		text string
	}{
		"good":       {},
		"wrong":      {spec: func(s *Spec) { s.Timeout = -1 }, want: ErrSpec},
		"no binary":  {spec: func(s *Spec) { s.Path = "/gone" }, text: "launch: /gone"},
		"version":    {spec: func(s *Spec) { s.Version = "9.9.9" }, want: ErrRefused, text: "9.9.9"},
		"config":     {make: func(p *fakeProcess) { p.validate = func(json.RawMessage) error { return errors.New("no such key") } }, want: ErrRefused, text: "no such key"},
		"hangs":      {make: func(p *fakeProcess) { p.hung.Store(true) }, want: ErrTimeout},
		"last words": {make: func(p *fakeProcess) { p.command.Stderr([]byte("out of \x1bluck")); p.kill(errKilled) }, want: plugin.ErrGone, text: `it wrote "out of ?luck"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				w.binary("/v1", plugin.Retention, "1.0.0", func(p *fakeProcess) {
					if c.make != nil {
						c.make(p)
					}
				})
				s := spec(plugin.Retention, "/v1")
				if c.spec != nil {
					c.spec(&s)
				}
				about, err := w.Try(t.Context(), &s)
				if name == "good" {
					if err != nil || about.Version != "1.0.0" {
						t.Errorf("%+v, %v", about, err)
					}
				} else if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v, want %v with %q", err, c.want, c.text)
				}
				if w.starts() > 0 && (!w.process(0).ended() || w.process(0).drains.Load() != 0) {
					t.Error("its process lives, or had an instance")
				}
				if len(w.Status()) != 0 {
					t.Error("it has a place in the catalogue")
				}
			})
		})
	}
}

// TestTryKeepsKeysInPlace holds that an entry that would move keys is refused before a
// catalogue has it, with nothing of it left: at the next start nobody would compare.
func TestTryKeepsKeysInPlace(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		deterministic := func(p *fakeProcess) { p.features = []string{partitioner.FeatureDeterministic} }
		w.binary("/v1", plugin.Partitioner, "1.0.0", deterministic)
		w.binary("/same", plugin.Partitioner, "2.0.0", deterministic)
		w.binary("/moved", plugin.Partitioner, "2.0.0", deterministic, func(p *fakeProcess) {
			p.assign = func(r *partitioner.Request, out []int32) {
				for i, key := range r.Keys {
					out[i] = int32(len(key)+1) % r.Partitions
				}
			}
		})
		w.must(spec(plugin.Partitioner, "/v1"))
		try := func(path string, remap bool) error {
			s := spec(plugin.Partitioner, path)
			s.AllowRemap = remap
			_, err := w.Try(t.Context(), &s)
			if last := w.process(w.starts() - 1); !last.ended() || last.drains.Load() != 1 {
				t.Errorf("%s: it lives, or its instance was not closed", path)
			}
			return err
		}
		if err := try("/same", false); err != nil {
			t.Error(err)
		}
		if err := try("/moved", false); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "--allow-remap") {
			t.Errorf("%v, want ErrRefused with what permits it", err)
		}
		if err := try("/moved", true); err != nil {
			t.Error(err)
		}
		if s := w.state(); s.Version != "1.0.0" || s.Generation != 1 || s.Reason != "" {
			t.Errorf("what serves has changed: %+v", s)
		}
	})
}

// TestNothingStartsAfterClose holds that a closed Host leaves no directory behind.
func TestNothingStartsAfterClose(t *testing.T) {
	inWorld(t, Options{Dir: t.TempDir()}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Retention, "1.0.0")
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := spec(plugin.Retention, "/v1")
		if _, err := w.Try(t.Context(), &s); !errors.Is(err, ErrClosed) || w.starts() != 0 {
			t.Errorf("%v and %d starts, want ErrClosed and none", err, w.starts())
		}
	})
}
