package pluginhost

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// slot is one entry of the catalogue over all its generations. One goroutine, the
// supervisor (run), changes what serves; callers only read.
type slot struct {
	host *Host
	name string
	kind plugin.Kind
	m    *instruments
	log  *journal

	// current serves; nil: nobody does. standby is what an upgrade replaced: it takes
	// no calls and lives until the bake time is over.
	current atomic.Pointer[generation]
	standby atomic.Pointer[generation]
	// imminent says that the standby comes back at once if current ends.
	imminent atomic.Bool
	timeout  atomic.Int64  // of a call, a time.Duration
	number   atomic.Uint64 // of the last generation
	// sample is where the partitioner in service sends the keys of the canary; nil:
	// there is none, or it is not deterministic.
	sample atomic.Pointer[[]int32]
	rules  atomic.Pointer[ruleSet] // of the store; nil: not given yet; changed under mu
	recent recent
	news   *rate.Limiter // of what its watches tell: see newsCost

	orders  chan func()   // for the supervisor
	wake    chan struct{} // its timer, and callers that saw something
	timer   clock.Timer
	ctx     context.Context // of the supervisor
	cancel  context.CancelFunc
	done    chan struct{}  // closed when nothing of the slot is left
	ending  sync.WaitGroup // generations that are being stopped, programs that are being kept
	keeping sync.Mutex     // held over the keeping of a program

	// Owned by the supervisor.
	desired   *Spec     // what Apply asked for last
	outcome   error     // why desired does not serve; nil: it does
	active    *Spec     // what is started again; nil: nothing
	served    bool      // active has been in service
	previous  *Spec     // what served before active, for Rollback
	budget    budget    // of restarts
	restartAt time.Time // zero: no restart is due
	bakeEnd   time.Time // zero: nothing is in its bake time
	before    totals    // of the standby when it was replaced
	unhealthy int       // health checks in a row without an answer
	healthAt  time.Time // of the next health check
	unruly    int       // pushes of rules in a row that were not taken

	mu      sync.Mutex
	changed chan struct{} // closed and made anew when current changes; guarded by mu
	view    view          // guarded by mu
}

// newSlot starts the supervisor of an entry that has nothing yet.
func newSlot(h *Host, name string, kind plugin.Kind) *slot {
	s := &slot{
		host: h, name: name, kind: kind, m: newInstruments(h.o.Metrics, name, kind), log: newJournal(), news: rate.NewLimiter(newsRate, newsBurst),
		orders: make(chan func()), wake: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{}),
		view: view{state: Stopped, since: h.o.Clock.Now()},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.timer = h.o.Clock.AfterFunc(tickEvery, s.rouse)
	s.m.observe(s)
	h.running.Go(s.run)
	return s
}

// rouse wakes the supervisor.
func (s *slot) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// changes is closed at the next change of current.
func (s *slot) changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// publish puts a generation into service, or nobody. Who served before is not
// retired yet: a call that enters it is answered by it. Rules that came after the
// generation was given some went to who served then: it decides nothing before the
// supervisor has given it those (repush), at once.
func (s *slot) publish(g *generation) {
	if g != nil {
		s.timeout.Store(int64(g.spec.timeout()))
		if g.sample == nil {
			s.sample.Store(nil)
		} else {
			s.sample.Store(&g.sample)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g != nil && g.rules != nil && g.taken.set.Load() != s.rules.Load() {
		g.taken.stale.Store(true)
		s.rouse()
	}
	s.current.Store(g)
	close(s.changed)
	s.changed = make(chan struct{})
}

// order has the supervisor do f and waits for it, or for ctx: then f is done
// nevertheless unless the slot is closed first.
func (s *slot) order(ctx context.Context, f func() error) error {
	reply := make(chan error, 1)
	select {
	case s.orders <- func() { reply <- f() }:
	case <-s.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logger takes the lines of a generation: some are kept, and told to the broker's
// log with who wrote them, at the level that the plugin gave them.
func (s *slot) logger(generation uint64) func([]byte) {
	return func(raw []byte) {
		kept := s.log.add(s.host.o.Clock.Now(), generation, raw)
		if len(kept) == 0 {
			s.m.linesDropped.Add(1)
		}
		for _, l := range kept {
			told := host.ParseLine([]byte(l.Text))
			s.host.o.Log.LogAttrs(s.ctx, told.Level, "plugin wrote",
				slog.String("plugin", s.name), slog.Any("kind", s.kind), slog.Uint64("generation", generation),
				slog.String("line", told.Message), slog.GroupAttrs("fields", told.Attrs...))
		}
	}
}
