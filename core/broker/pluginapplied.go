package broker

import (
	"context"
	"errors"
	"sync"

	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/pluginhost"
)

// applied is how far the supervisor is with the catalogue. It is safe for concurrent
// use; its lock is a leaf.
type applied struct {
	mu       sync.Mutex
	epoch    uint64           // of the newest catalogue that was applied; guarded by mu
	outcomes map[string]error // of its entries; guarded by mu
	fresh    chan struct{}    // closed and made anew when epoch grows; guarded by mu
}

// note takes what became of a catalogue.
func (a *applied) note(epoch uint64, results []pluginhost.Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.epoch, a.outcomes = epoch, map[string]error{}
	for _, r := range results {
		a.outcomes[r.Name] = r.Err
	}
	close(a.fresh)
	a.fresh = make(chan struct{})
}

// now is the newest epoch, and what is closed when there is a newer one.
func (a *applied) now() (epoch uint64, newer <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.epoch, a.fresh
}

// outcome says why an entry did not get into service when it was applied.
func (a *applied) outcome(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.outcomes[name]
}

// refused says whether any entry was wrong, of which the supervisor knows nothing.
func (a *applied) refused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, err := range a.outcomes {
		if errors.Is(err, pluginhost.ErrSpec) {
			return true
		}
	}
	return false
}

// outcome says why an entry did not get into service when it was applied.
func (p *plugins) outcome(name string) error { return p.applied.outcome(name) }

// settle waits until this broker runs the catalogue as it is now, for changeWait at
// the most, and tells how an entry is then.
func (p *plugins) settle(ctx context.Context, name string, outcome admin.PluginOutcome) admin.PluginOutcome {
	want := p.b.image().PluginEpoch
	ctx, stop := context.WithTimeout(ctx, changeWait)
	defer stop()
	for {
		epoch, newer := p.applied.now()
		if epoch >= want {
			if err := p.outcome(name); err != nil {
				outcome.Problem = problem(err)
			}
			break
		}
		select {
		case <-newer:
			continue
		case <-p.done:
			outcome.Problem = "the broker stops"
		case <-ctx.Done():
			outcome.Problem = problem(context.DeadlineExceeded)
		}
		break
	}
	outcome.Plugin = p.one(name)
	return outcome
}
