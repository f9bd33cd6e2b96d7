package security

import (
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
	for _, l := range a.chain {
		l.stored.Store(&storedRules{epoch, rules})
		select {
		case l.changed <- struct{}{}:
		default: // it has not seen the last change yet, and will see this one
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
// that does not want them says so each time: its next version may.
func (l *link) give() {
	taker, takes := l.Authorizer.(auth.RuleTaker)
	if !takes {
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
		err := taker.SetRules(l.a.ctx, s.epoch, s.rules)
		if err == nil || errors.Is(err, plugin.ErrUnsupported) {
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
