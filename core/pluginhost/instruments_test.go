package pluginhost

import (
	"testing"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestMetrics holds that what happens to a plugin can be seen from outside.
func TestMetrics(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		kind := plugin.Authorizer
		w.binary("/v1", kind, "1.0.0")
		w.binary("/v2", kind, "2.0.0")
		w.must(spec(kind, "/v1"))
		w.must(spec(kind, "/v2"))
		_ = w.ask(t.Context(), kind)
		w.process(1).kill(errKilled) // rolled back
		w.state()
		w.process(0).hung.Store(true)
		_ = w.ask(t.Context(), kind) // times out
		w.process(0).hung.Store(false)
		w.process(0).kill(errKilled)
		time.Sleep(2 * tickEvery)
		want := map[string]float64{
			"calls_total": 2, "crashes_total": 2, "restarts_total": 1, "rollbacks_total": 1, "retries_total": 0,
			"generation": 4, "state": 6, "memory_bytes": 20 << 20, "in_flight_calls": 0, "queued_calls": 0, "breaker_open": 0,
			"dropped_log_lines_total": 0, "errors_total/timeout": 1, "errors_total/gone": 0,
		}
		got := map[string]float64{}
		for _, f := range w.registry.Snapshot() {
			for _, s := range f.Series {
				name := f.Name[len("mortise_pluginhost_"):]
				for _, l := range s.Labels {
					if l.Name == "cause" {
						name += "/" + l.Value
					}
				}
				if got[name] = s.Value; name == "call_seconds" && s.Count != 2 {
					t.Errorf("%d latencies, want 2", s.Count)
				}
			}
		}
		for name, v := range want {
			if g, ok := got[name]; !ok || g != v {
				t.Errorf("%s is %v (there: %t), want %v", name, g, ok, v)
			}
		}
	})
}
