package pluginhost

import (
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// State says where an entry is in its life.
type State string

// The states. Only Serving and Baking answer calls.
const (
	Starting   State = "starting"
	Serving    State = "serving"
	Baking     State = "baking"     // an upgrade that may be taken back by itself
	Restarting State = "restarting" // waits for its next start
	Failed     State = "failed"     // given up on; Restart or a changed entry starts it
	Disabled   State = "disabled"
	Stopped    State = "stopped"
)

// states are all of them, as the metric numbers them.
func states() []State {
	return []State{Stopped, Disabled, Failed, Restarting, Starting, Baking, Serving}
}

// Status is what there is to know about an entry, for people.
type Status struct {
	Name     string      `json:"name"`
	Kind     plugin.Kind `json:"kind"`
	State    State       `json:"state"`
	Reason   string      `json:"reason,omitempty"` // why it is not as wanted
	Since    time.Time   `json:"since"`            // of State
	Enabled  bool        `json:"enabled"`
	Required bool        `json:"required"`
	Builtin  bool        `json:"builtin"`

	// Of who serves; zero if nobody does.
	Generation uint64    `json:"generation,omitempty"`
	Plugin     string    `json:"plugin,omitempty"` // its own name
	Version    string    `json:"version,omitempty"`
	Summary    string    `json:"summary,omitempty"`
	Features   []string  `json:"features,omitempty"`
	PID        int       `json:"pid,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Breaker    string    `json:"breaker,omitempty"` // closed or open
	InFlight   int       `json:"in_flight"`
	Queued     int       `json:"queued"`
	Spec       *Spec     `json:"-"` // its entry

	BakeUntil time.Time `json:"bake_until,omitzero"`
	RestartAt time.Time `json:"restart_at,omitzero"`
	// Desired is the version that the catalogue wants, if it names one; Previous is
	// what Rollback goes back to, empty if there is nothing.
	Desired  string `json:"desired,omitempty"`
	Previous string `json:"previous,omitempty"`

	Calls    uint64            `json:"calls"`
	Errors   map[string]uint64 `json:"errors,omitempty"` // by cause
	Restarts uint64            `json:"restarts"`
	// Memory is the RSS of the process in bytes; First is that of its first look,
	// Peak the largest: a slow leak shows between them.
	Memory      uint64 `json:"memory,omitempty"`
	MemoryFirst uint64 `json:"memory_first,omitempty"`
	MemoryPeak  uint64 `json:"memory_peak,omitempty"`
	MemoryMax   uint64 `json:"memory_max,omitempty"`
	// Replayed and Different tell of the last upgrade of an authorizer: recent
	// decisions it was shown, and those it decides otherwise.
	Replayed  int `json:"replayed,omitempty"`
	Different int `json:"different,omitempty"`
}

// view is what the supervisor shows of what it owns.
type view struct {
	state      State
	reason     string
	since      time.Time
	desired    *Spec
	previous   *Spec
	bakeEnd    time.Time
	restartAt  time.Time
	restarts   uint64
	generation uint64 // whose memory it is

	memory, memoryFirst, memoryPeak uint64
	memoryWarned                    bool

	replayed, different int
}

// update changes the view.
func (s *slot) update(f func(*view)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.view)
}

// say shows a state and why, and what the supervisor plans.
func (s *slot) say(state State, reason string) {
	now, g := s.host.o.Clock.Now(), s.current.Load()
	s.update(func(v *view) {
		if v.state != state {
			v.since = now
		}
		v.state, v.reason = state, reason
		v.previous, v.bakeEnd, v.restartAt = s.previous, s.bakeEnd, s.restartAt
		if g == nil {
			v.memory = 0
		} else if v.generation != g.number {
			v.generation, v.memory, v.memoryFirst, v.memoryPeak, v.memoryWarned = g.number, 0, 0, 0, false
		}
	})
}

// stateNow is the state of a slot with somebody in service.
func (s *slot) stateNow() State {
	if s.bakeEnd.IsZero() {
		return Serving
	}
	return Baking
}

// status is everything at about one moment.
func (s *slot) status() Status {
	s.mu.Lock()
	v := s.view
	s.mu.Unlock()
	out := Status{
		Name: s.name, Kind: s.kind, State: v.state, Reason: v.reason, Since: v.since,
		BakeUntil: v.bakeEnd, RestartAt: v.restartAt, Restarts: v.restarts,
		Memory: v.memory, MemoryFirst: v.memoryFirst, MemoryPeak: v.memoryPeak,
		Calls: s.m.calls.Load(), Errors: s.m.byCause(), Replayed: v.replayed, Different: v.different,
	}
	if d := v.desired; d != nil {
		out.Enabled, out.Required, out.Builtin, out.Desired, out.MemoryMax = d.Enabled, d.Required, d.Builtin != "", d.Version, d.MemoryMax
	}
	if v.previous != nil {
		out.Previous = v.previous.Version
	}
	if g := s.current.Load(); g != nil {
		g.show(&out)
	}
	return out
}

// show adds who serves.
func (g *generation) show(out *Status) {
	out.Generation, out.Plugin, out.Version, out.Summary = g.number, g.about.Name, g.about.Version, g.about.Summary
	out.Features, out.PID, out.Started, out.Spec = g.about.Features, g.process.PID(), g.since, g.spec
	out.Breaker = "closed"
	if !g.breaker.allows() {
		out.Breaker = "open"
	}
	out.Queued = int(g.gate.waiting.Load())
	out.InFlight = max(int(g.inFlight())-out.Queued, 0)
}
