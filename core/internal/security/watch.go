package security

import (
	"context"
	"fmt"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
)

// Watching of policies.
const (
	watchGrace    = 10 * time.Second // without news decisions are remembered for so long
	watchPauseMin = 250 * time.Millisecond
	watchPauseMax = 30 * time.Second
)

// start watches the link's policy, and gives it the cluster's rules, until the
// Authorizer is closed.
func (l *link) start() {
	l.running.Go(l.watch)
	l.running.Go(l.give)
}

// close waits until all that has ended.
func (l *link) close() { l.running.Wait() }

// watch subscribes again and again.
func (l *link) watch() {
	pause := watchPauseMin
	for l.a.ctx.Err() == nil {
		heard := false
		err := l.Authorizer.Watch(l.a.ctx, func(e auth.Event) error {
			err := l.hear(e, !heard)
			heard = heard || err == nil
			return err
		})
		if l.a.ctx.Err() != nil {
			return
		}
		if heard {
			pause = watchPauseMin
		}
		l.lose()
		l.a.opt.Log.Warn("authorizer's news ended, asking again", "name", l.Name, "error", err, "pause", pause)
		if !l.pause(pause) {
			return
		}
		pause = min(2*pause, watchPauseMax)
	}
}

// pause waits; false: the Authorizer was closed.
func (l *link) pause(d time.Duration) bool {
	ctx, stop := context.WithCancel(l.a.ctx)
	defer stop()
	timer := l.a.opt.Clock.AfterFunc(d, stop)
	defer timer.Stop()
	<-ctx.Done()
	return l.a.ctx.Err() == nil
}

// hear takes news. first says that they are the first of a subscription: another
// instance may count its epochs anew, so nothing that was remembered counts. Too many
// rules are an error, as if none came: to go by some of them, or by none, could allow
// what they deny.
func (l *link) hear(e auth.Event, first bool) error {
	if len(e.Rules) > auth.MaxRules {
		return fmt.Errorf("%d rules were pushed, want at most %d", len(e.Rules), auth.MaxRules)
	}
	var pushed *auth.Matcher
	if e.Rules != nil {
		pushed = auth.NewMatcher(e.Rules)
	}
	l.turn(func(p *policy) {
		if first || e.Epoch != p.said || e.Rules != nil {
			p.epoch++
		}
		if pushed != nil || !l.Has(auth.FeaturePush) {
			p.matcher = pushed
		}
		p.said, p.lost, p.first = e.Epoch, time.Time{}, false
	})
	if pushed != nil || !l.Has(auth.FeaturePush) {
		l.tell()
	}
	return nil
}

// lose notes that no news come any more.
func (l *link) lose() {
	now := l.a.opt.Clock.Now()
	l.turn(func(p *policy) {
		if p.lost.IsZero() {
			p.lost = now
		}
	})
}

// turn makes the next policy of the present one.
func (l *link) turn(change func(p *policy)) {
	for {
		was := l.policy.Load()
		next := *was
		change(&next)
		if l.policy.CompareAndSwap(was, &next) {
			return
		}
	}
}
