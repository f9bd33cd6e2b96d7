package security

import (
	"context"
	"errors"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// storedRules are the rules of the cluster's store.
type storedRules struct {
	epoch uint64
	rules []auth.Rule
}

// SetRules gives the rules of the cluster's store to the authorizers of the chain
// that want them (auth.FeatureStore). It does not wait for them. The rules must not
// be changed any more.
func (a *Authorizer) SetRules(epoch uint64, rules []auth.Rule) {
	a.warn(rules)
	for _, l := range a.chain {
		l.stored.Store(&storedRules{epoch, rules})
		select {
		case l.changed <- struct{}{}:
		default: // it has not seen the last change yet, and will see this one
		}
	}
}

// warn tells of rules that most likely mean something else: a prefixed * stands for
// names that begin with one, and not for all.
func (a *Authorizer) warn(rules []auth.Rule) {
	for _, r := range rules {
		if r.Pattern == auth.Prefixed && r.Name == auth.Wildcard {
			a.opt.Log.Warn("access rule is for names that begin with *, not for all names: that is the literal *",
				"principal", r.Principal, "resource", r.Resource, "operation", r.Operation)
		}
	}
}

// TakesRules says whether an authorizer of the chain goes by the cluster's store: if
// none does, there is no sense in changing it.
func (a *Authorizer) TakesRules() bool {
	for _, l := range a.chain {
		if l.Has(auth.FeatureStore) {
			return true
		}
	}
	return false
}

// give gives the newest rules to the plugin, again and again until it takes them. One
// that does not want them says so each time: its next version may. Until then nothing
// that was decided by older rules counts, nor is remembered: the plugin may never take
// them.
func (l *link) give() {
	taker, takes := l.Authorizer.(auth.RuleTaker)
	if !takes {
		l.lawful()
		return
	}
	pause := watchPauseMin
	for {
		select {
		case <-l.a.ctx.Done():
			return
		case <-l.changed:
		}
		s := l.stored.Load()
		l.turn(func(p *policy) { p.epoch, p.giving = p.epoch+1, true })
		err := taker.SetRules(l.a.ctx, s.epoch, s.rules)
		if err == nil || errors.Is(err, plugin.ErrUnsupported) {
			l.take(s.epoch)
			pause = watchPauseMin
			continue
		}
		l.a.opt.Log.Warn("authorizer did not take the cluster's rules, trying again", "name", l.Name, "error", err, "pause", pause)
		if !l.pause(pause) {
			return
		}
		pause = min(2*pause, watchPauseMax)
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}
}

// take notes that the plugin goes by the rules of an epoch from now on, or wants none.
// What was decided by older ones does not count any more.
func (l *link) take(epoch uint64) {
	l.turn(func(p *policy) { p.epoch, p.giving = p.epoch+1, false })
	l.mu.Lock()
	l.taken = max(l.taken, epoch)
	close(l.took)
	l.took = make(chan struct{})
	l.mu.Unlock()
	l.lawful()
}

// WaitRules waits until the authorizers of the chain go by the rules of an epoch, or
// later ones; false: ctx ended before.
func (a *Authorizer) WaitRules(ctx context.Context, epoch uint64) bool {
	for _, l := range a.chain {
		if _, takes := l.Authorizer.(auth.RuleTaker); !takes {
			continue
		}
		for {
			l.mu.Lock()
			taken, took := l.taken, l.took
			l.mu.Unlock()
			if taken >= epoch {
				break
			}
			select {
			case <-took:
			case <-ctx.Done():
				return false
			}
		}
	}
	return true
}

// Await waits until every authorizer of the chain can decide: it has taken the rules
// that SetRules gave, or says that it wants none, and one that pushes rules has told its
// first; false: ctx ended before.
func (a *Authorizer) Await(ctx context.Context) bool {
	for _, l := range a.chain {
		select {
		case <-l.given:
		case <-ctx.Done():
			return false
		}
		if !l.Has(auth.FeaturePush) {
			continue
		}
		select {
		case <-l.told:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
