package pluginhost

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// metered is a partitioner with metrics.
type metered struct {
	partitioner.Func
	tell func(ctx context.Context) ([]byte, error)
}

func (m metered) Metrics(ctx context.Context) ([]byte, error) { return m.tell(ctx) }

// TestOwnMetrics asks a plugin for its own metrics, of which it may make what it likes.
func TestOwnMetrics(t *testing.T) {
	for says, c := range map[string]struct {
		tell func(ctx context.Context) ([]byte, error) // nil: it has none
		want error
	}{
		"some":    {func(context.Context) ([]byte, error) { return []byte("m 1\n"), nil }, nil},
		"none":    {nil, plugin.ErrUnsupported},
		"endless": {func(context.Context) ([]byte, error) { return make([]byte, plugin.MaxMetricsBytes+1), nil }, plugin.ErrTooLarge},
		"panics":  {func(context.Context) ([]byte, error) { panic("no") }, ErrFailed},
		"hangs":   {func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }, ErrTimeout},
	} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				zero := partitioner.Func(func(string, []byte, int32) int32 { return 0 })
				p := plugin.Plugin{Kind: plugin.Partitioner, Name: "b", Version: "1", New: func(context.Context, plugin.Config) (any, error) {
					if c.tell == nil {
						return zero, nil
					}
					return metered{zero, c.tell}, nil
				}}
				h := New(Options{Builtins: []plugin.Plugin{p}})
				defer h.Close(context.Background())
				if r := h.Apply(t.Context(), []Spec{builtin(plugin.Partitioner)}); r[0].Err != nil {
					t.Fatal(r[0].Err)
				}
				begin := time.Now()
				text, err := h.Metrics(t.Context(), "p")
				if !errors.Is(err, c.want) || (string(text) == "m 1\n") != (c.want == nil) || time.Since(begin) > metricsMax {
					t.Errorf("%q, %v after %v, want %v", text, err, time.Since(begin), c.want)
				}
				if s := h.Status()[0]; s.Calls != 0 || len(s.Errors) != 0 {
					t.Errorf("it counts as a call: %+v", s)
				}
			})
		})
	}
}

// TestNobodysMetrics asks where nobody serves.
func TestNobodysMetrics(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.binary("/v1", plugin.Partitioner, "1.0.0")
		e := spec(plugin.Partitioner, "/v1")
		e.Enabled = false
		w.must(e)
		if _, err := w.Metrics(t.Context(), "p"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("of one that is disabled: %v", err)
		}
		if _, err := w.Metrics(t.Context(), "nobody"); !errors.Is(err, ErrNotFound) {
			t.Errorf("of one that there is not: %v", err)
		}
	})
}
