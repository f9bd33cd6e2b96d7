package pluginhost

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// retired is added to a generation's refs when it takes no calls any more: more than
// there can be calls.
const retired = 1 << 40

// generation is one life of a plugin in service: a process (or a compiled-in value)
// with its config. All but the fields below refs are set before it is in service.
type generation struct {
	number   uint64
	spec     *Spec
	process  Process
	instance *host.Instance
	about    plugin.Description
	since    time.Time
	// One of these is set, by kind. They are checked: a call returns soon after its
	// context is done and a panic is an error, but for direct.
	partitioner   partitioner.Partitioner
	authenticator auth.Authenticator
	authorizer    auth.Authorizer
	rules         auth.RuleTaker // nil: an authorizer without FeatureStore
	retention     storage.Retention
	// direct is a compiled-in partitioner: called on the caller's goroutine.
	direct bool
	// guard is a compiled-in plugin's: of all its calls, or of direct's canaries only.
	guard *guard

	gate    *gate
	breaker breaker
	// Calls and failures in service, for the bake time.
	calls, failures atomic.Uint64

	// refs counts calls; retired is added at the end of its service.
	refs atomic.Int64
	// idle is closed when it is retired and no call runs.
	idle     chan struct{}
	idleOnce sync.Once
	// over is closed when it is retired or its process ended: what lasts longer than
	// a call (Watch) ends by it.
	over     chan struct{}
	overOnce sync.Once

	// sample is where a deterministic partitioner sends the keys of the canary.
	sample []int32
	// taken are the rules that the instance has; successors share it.
	taken *taken
}

// successor is a new generation with the same process: what a rollback puts into
// service.
func (g *generation) successor(number uint64, now time.Time) *generation {
	n := &generation{
		number: number, spec: g.spec, process: g.process, instance: g.instance, about: g.about, since: now,
		partitioner: g.partitioner, authenticator: g.authenticator, authorizer: g.authorizer,
		rules: g.rules, retention: g.retention, direct: g.direct, guard: g.guard, sample: g.sample, taken: g.taken,
	}
	n.prepare()
	return n
}

// prepare makes what every generation has.
func (g *generation) prepare() {
	g.gate = newGate(g.spec.concurrency(), g.spec.queue())
	g.idle, g.over = make(chan struct{}), make(chan struct{})
	if g.taken == nil {
		g.taken = &taken{token: make(chan struct{}, 1)}
	}
}

// enter counts a call in; false: it takes none any more. Hot: one atomic operation.
func (g *generation) enter() bool {
	if g.refs.Add(1) < retired {
		return true
	}
	g.exit()
	return false
}

// exit counts a call out.
func (g *generation) exit() {
	if g.refs.Add(-1) == retired {
		g.idleOnce.Do(func() { close(g.idle) })
	}
}

// retire ends its service: nobody enters any more, and idle is closed once the last
// call is out. Only the supervisor calls it, once.
func (g *generation) retire() {
	g.end()
	if g.refs.Add(retired) == retired {
		g.idleOnce.Do(func() { close(g.idle) })
	}
}

// end tells what lasts that the generation is over.
func (g *generation) end() { g.overOnce.Do(func() { close(g.over) }) }

// inFlight is how many calls run or wait.
func (g *generation) inFlight() int64 {
	n := g.refs.Load()
	if n >= retired {
		n -= retired
	}
	return n
}

// dead says whether its process has ended.
func (g *generation) dead() bool {
	select {
	case <-g.process.Done():
		return true
	default:
		return false
	}
}

// drained waits until no call runs, at most for limit, and says whether that was so.
func (g *generation) drained(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-g.idle:
		return true
	case <-ctx.Done():
		return false
	}
}

// stop ends a generation that serves no more: instance, then process. idle says that
// no call runs. A compiled-in value is not closed while a call of it runs.
func (g *generation) stop(ctx context.Context, idle bool) error {
	var err error
	switch {
	case g.instance == nil || g.dead():
	case g.spec.Builtin != "" && !idle, g.guard != nil && !g.guard.wait(ctx):
		err = errors.New("calls that ran past their deadline still run: it is not closed")
	default:
		drain, cancel := context.WithTimeout(ctx, drainMax)
		err = guarded(drain, func() error { return g.instance.Drain(drain) })
		cancel()
	}
	return errors.Join(err, g.process.Stop(ctx))
}
