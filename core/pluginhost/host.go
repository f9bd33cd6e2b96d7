package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// EntriesMax bounds the catalogue.
const EntriesMax = 256

// defaultBake is for how long an upgrade may be taken back by itself.
const defaultBake = 30 * time.Second

// Options are the parts of a Host. The zero value runs binaries with digests only.
type Options struct {
	Builtins []plugin.Plugin // compiled in
	// Dir is where the Host makes a directory for those of its processes, and removes
	// what dead Hosts left; short. Empty: the system's for temporary files.
	Dir string
	// Keep is a directory of this Host's alone where programs that have served are kept
	// (two for each entry), so that a rollback and a restart find what is no longer at
	// its path. It is made if needed. Empty: nothing is kept.
	Keep      string
	ClusterID string
	BrokerID  int32
	// Bake is for how long what an upgrade replaced is kept alive, to come back if
	// the upgrade does worse; 0: 30 s, negative: not at all.
	Bake time.Duration
	// AllowUnverified lets binaries run whose entry has no digest for this platform.
	AllowUnverified bool
	Launcher        Launcher          // nil: package sdk/host
	Clock           clock.Clock       // nil: the system's. Deadlines are contexts': always the system's
	Log             *slog.Logger      // nil: discarded
	Metrics         *metrics.Registry // nil: a private one
}

// Host runs the plugins of a catalogue. All methods are safe for concurrent use.
type Host struct {
	o     Options
	slots atomic.Pointer[map[string]*slot] // by name; the map never changes
	dir   runDir
	kept  kept
	// hard ends the patience with generations that are being stopped.
	hard     context.Context
	giveUp   context.CancelFunc
	applying chan struct{}  // a token: one Apply at a time
	running  sync.WaitGroup // supervisors

	mu     sync.Mutex
	closed bool // guarded by mu
}

// New makes a Host with an empty catalogue. A built-in with a mistake of its author
// is a slot that is refused, not an error here.
func New(o Options) *Host {
	if o.Bake == 0 {
		o.Bake = defaultBake
	}
	if o.Launcher == nil {
		o.Launcher = processes{}
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	h := &Host{o: o, dir: runDir{under: o.Dir}, kept: kept(o.Keep), applying: make(chan struct{}, 1)}
	h.hard, h.giveUp = context.WithCancel(context.Background())
	h.slots.Store(&map[string]*slot{})
	return h
}

// Result is what Apply did about one entry.
type Result struct {
	Name string
	// Err says why the entry does not serve as asked; nil: it does, or is disabled.
	// Wraps ErrSpec, ErrRefused, ErrCanary, ErrTimeout, ErrRolledBack…
	Err error
}

// Apply makes the catalogue what specs say: it starts, upgrades, disables and stops,
// all entries at once, and waits for the first outcome of each, at most until ctx is
// done; work that has begun goes on. An entry that is wrong, or whose new version
// does not get into service, leaves what serves under its name in service. An entry
// as it was before is not tried again: Restart does that. Results are in the order
// of specs.
func (h *Host) Apply(ctx context.Context, specs []Spec) []Result {
	results := make([]Result, len(specs))
	for i := range specs {
		results[i].Name = specs[i].Name
	}
	fail := func(err error) []Result {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	if len(specs) > EntriesMax {
		return fail(fmt.Errorf("%w: %d entries, at most %d", ErrSpec, len(specs), EntriesMax))
	}
	select {
	case h.applying <- struct{}{}:
		defer func() { <-h.applying }()
	case <-ctx.Done():
		return fail(ctx.Err())
	}
	named := map[string]bool{}
	for i := range specs {
		results[i].Err = specs[i].Check()
		if named[specs[i].Name] && results[i].Err == nil {
			results[i].Err = fmt.Errorf("%w: two entries are named %s", ErrSpec, specs[i].Name)
		}
		named[specs[i].Name] = true
	}
	slots, gone, err := h.arrange(specs, results)
	next := *h.slots.Load()
	if err != nil {
		return fail(err)
	}
	var all sync.WaitGroup
	for _, s := range gone {
		all.Go(func() {
			if s.close(ctx) == nil && next[s.name] == nil { // ctx bounds only the waiting
				_ = h.kept.forget(s.name) // what stays is a file too many
			}
		})
	}
	for i, s := range slots {
		if s != nil {
			spec := specs[i].clone()
			all.Go(func() { results[i].Err = s.order(ctx, func() error { return s.apply(spec) }) })
		}
	}
	all.Wait()
	return results
}

// arrange makes the map of slots what specs say. It returns the slot of each entry
// that is right, and those that nobody names any more.
func (h *Host) arrange(specs []Spec, results []Result) (slots []*slot, gone []*slot, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, ErrClosed
	}
	before := *h.slots.Load()
	next := map[string]*slot{}
	slots = make([]*slot, len(specs))
	for i := range specs {
		name, old := specs[i].Name, before[specs[i].Name]
		switch {
		case results[i].Err != nil:
			if old != nil && next[name] == nil {
				next[name] = old // it serves on
			}
			continue
		case old == nil || old.kind != specs[i].Kind:
			next[name] = newSlot(h, name, specs[i].Kind)
		default:
			next[name] = old
		}
		slots[i] = next[name]
	}
	for name, s := range before {
		if next[name] != s {
			gone = append(gone, s)
		}
	}
	h.slots.Store(&next)
	return slots, gone, nil
}

// find is the slot of a name.
func (h *Host) find(name string) (*slot, error) {
	if s := (*h.slots.Load())[name]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("plugin %q: %w", name, ErrNotFound)
}

// Restart replaces what serves with a new generation of the same entry, without a
// lost call. An entry that does not serve as it says is tried again: one that was given
// up on, and one whose upgrade did not get into service or was taken back.
func (h *Host) Restart(ctx context.Context, name string) error {
	s, err := h.find(name)
	if err != nil {
		return err
	}
	return s.order(ctx, s.renew)
}

// Rollback goes back to what served before the last upgrade, and returns its entry,
// which is the one to keep in the catalogue.
func (h *Host) Rollback(ctx context.Context, name string) (Spec, error) {
	s, err := h.find(name)
	if err != nil {
		return Spec{}, err
	}
	var back Spec
	err = s.order(ctx, func() error {
		spec, err := s.revert()
		if spec != nil {
			back = *spec.clone()
		}
		return err
	})
	if err != nil {
		return Spec{}, err
	}
	return back, nil
}

// Status is that of every entry, by name.
func (h *Host) Status() []Status {
	slots := *h.slots.Load()
	all := make([]Status, 0, len(slots))
	for _, name := range slices.Sorted(maps.Keys(slots)) {
		all = append(all, slots[name].status())
	}
	return all
}

// Builtins are the compiled-in plugins, sorted by kind and name.
func (h *Host) Builtins() []plugin.Description {
	all := make([]plugin.Description, len(h.o.Builtins))
	for i, p := range h.o.Builtins {
		all[i] = p.Describe()
	}
	slices.SortFunc(all, func(a, b plugin.Description) int {
		return strings.Compare(string(a.Kind)+"/"+a.Name, string(b.Kind)+"/"+b.Name)
	})
	return all
}

// Logs are the last lines that the plugin wrote, oldest first.
func (h *Host) Logs(name string) ([]Line, error) {
	s, err := h.find(name)
	if err != nil {
		return nil, err
	}
	return s.log.all(), nil
}

// Close takes every plugin out of service and stops it: calls that run get their
// time until ctx is done, then processes are killed. It waits until nothing is left.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	slots := *h.slots.Load()
	h.slots.Store(&map[string]*slot{})
	h.mu.Unlock()
	stop := context.AfterFunc(ctx, h.giveUp)
	defer stop()
	defer h.giveUp()
	for _, s := range slots {
		s.cancel()
	}
	h.running.Wait()
	return errors.Join(ctx.Err(), h.dir.close())
}

// close ends the slot and waits for it as long as ctx lets it.
func (s *slot) close(ctx context.Context) error {
	s.cancel()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
