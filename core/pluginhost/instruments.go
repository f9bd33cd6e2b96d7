package pluginhost

import (
	"slices"

	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// instruments are the metrics of one entry.
type instruments struct {
	registry *metrics.Registry
	labels   []string

	calls        *metrics.Counter
	errors       [causes]*metrics.Counter
	retries      *metrics.Counter
	seconds      *metrics.Histogram
	crashes      *metrics.Counter
	restarts     *metrics.Counter
	rollbacks    *metrics.Counter
	linesDropped *metrics.Counter
	memory       *metrics.Gauge
}

func newInstruments(r *metrics.Registry, name string, kind plugin.Kind) *instruments {
	labels := []string{"plugin", name, "kind", string(kind)}
	m := &instruments{
		registry:     r,
		labels:       labels,
		calls:        r.Counter("mortise_pluginhost_calls_total", "Questions to a plugin.", labels...),
		retries:      r.Counter("mortise_pluginhost_retries_total", "Questions put again because a generation ended over them.", labels...),
		seconds:      r.Histogram("mortise_pluginhost_call_seconds", "Time of a question, waiting included.", metrics.SecondsBounds(), labels...),
		crashes:      r.Counter("mortise_pluginhost_crashes_total", "Processes that ended by themselves.", labels...),
		restarts:     r.Counter("mortise_pluginhost_restarts_total", "Starts of a plugin that had ended, hung or grown too large.", labels...),
		rollbacks:    r.Counter("mortise_pluginhost_rollbacks_total", "Upgrades that were taken back.", labels...),
		linesDropped: r.Counter("mortise_pluginhost_dropped_log_lines_total", "Lines that a plugin wrote and nobody kept: too many.", labels...),
		memory:       r.Gauge("mortise_pluginhost_memory_bytes", "Resident memory of a plugin's process.", labels...),
	}
	for c := causeNone + 1; c < causes; c++ {
		m.errors[c] = r.Counter("mortise_pluginhost_errors_total", "Questions without an answer, by cause.", append(slices.Clone(labels), "cause", causeNames[c])...)
	}
	m.errors[causeNone] = &metrics.Counter{} // never counted, never shown
	return m
}

// observe shows what is read when somebody looks.
func (m *instruments) observe(s *slot) {
	gauge := func(name, help string, f func(g *generation) float64) {
		m.registry.GaugeFunc(name, help, func() float64 {
			if g := s.current.Load(); g != nil {
				return f(g)
			}
			return 0
		}, m.labels...)
	}
	gauge("mortise_pluginhost_in_flight_calls", "Questions that run or wait.", func(g *generation) float64 { return float64(g.inFlight()) })
	gauge("mortise_pluginhost_queued_calls", "Questions that wait for a place.", func(g *generation) float64 { return float64(g.gate.waiting.Load()) })
	gauge("mortise_pluginhost_generation", "Number of the generation in service; 0: none.", func(g *generation) float64 { return float64(g.number) })
	gauge("mortise_pluginhost_breaker_open", "1 while the breaker keeps questions from the plugin.", func(g *generation) float64 {
		if g.breaker.allows() {
			return 0
		}
		return 1
	})
	m.registry.GaugeFunc("mortise_pluginhost_state", "0 stopped, 1 disabled, 2 failed, 3 restarting, 4 starting, 5 baking, 6 serving.", func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return float64(slices.Index(states(), s.view.state))
	}, m.labels...)
}

// byCause is the errors so far, without those that never happened.
func (m *instruments) byCause() map[string]uint64 {
	all := map[string]uint64{}
	for c := causeNone + 1; c < causes; c++ {
		if n := m.errors[c].Load(); n > 0 {
			all[causeNames[c]] = n
		}
	}
	return all
}
