package security

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// link is one authorizer of the chain with what is remembered of its decisions.
type link struct {
	Link
	a       *Authorizer
	memory  *decisions
	silence complaint
	flights singleflight.Group // questions about one action, by its key

	policy  atomic.Pointer[policy]
	stored  atomic.Pointer[storedRules] // to be given to the plugin; nil: none yet
	changed chan struct{}               // stored is another one
	given   chan struct{}               // closed once it has taken some, or wants none
	lawful  func()                      // closes given
	told    chan struct{}               // closed at the first news
	tell    func()                      // closes told

	mu      sync.Mutex
	taken   uint64         // epoch of the rules that it goes by; guarded by mu
	took    chan struct{}  // closed when taken grows; guarded by mu
	running sync.WaitGroup // what watch and give run
}

// policy is what Watch told last.
type policy struct {
	epoch   uint64        // our own count of what was told; decisions go by it
	said    uint64        // the plugin's epoch
	matcher *auth.Matcher // of pushed rules; nil: none came
	lost    time.Time     // when watching ended; zero: it goes on
	first   bool          // nothing was told yet
	giving  bool          // there are newer rules in the cluster's store than the plugin goes by
}

func newLink(a *Authorizer, l Link) *link {
	k := &link{Link: l, a: a, memory: newDecisions(), changed: make(chan struct{}, 1), given: make(chan struct{}), told: make(chan struct{}), took: make(chan struct{})}
	k.lawful, k.tell = sync.OnceFunc(func() { close(k.given) }), sync.OnceFunc(func() { close(k.told) })
	k.policy.Store(&policy{first: true, lost: a.opt.Clock.Now()})
	return k
}

// pushes says whether decisions are made by rules that were pushed.
func (l *link) pushes(p *policy) bool { return p.matcher != nil || l.Has(auth.FeaturePush) }

// rules are the pushed rules that count now; nil: none. Without news they count for
// as long as a decision could have been remembered.
func (l *link) rules(p *policy) *auth.Matcher {
	if !p.lost.IsZero() && l.a.opt.Clock.Now().Sub(p.lost) > auth.MaxAllowTTL {
		return nil
	}
	return p.matcher
}

// client is who asks, as the plugin may know it. Pushed rules are matched here, so they
// may name hosts whatever features the plugin has.
func (l *link) client(c *wire.ConnInfo, i *wire.Identity, key int16, p *policy) auth.Client {
	who := auth.Client{PrincipalType: i.Type, PrincipalName: i.Name, Groups: i.Groups, Listener: c.Listener, RequestKey: key}
	if l.Has(auth.FeatureUsesHost) || l.pushes(p) {
		who.Host = c.Host()
	}
	return who
}

// decide is the link's verdict on one action; false: it can't be found out.
func (l *link) decide(c *wire.ConnInfo, i *wire.Identity, key int16, op auth.Operation, t auth.ResourceType, name string) (auth.Verdict, bool) {
	p := l.policy.Load()
	who := l.client(c, i, key, p)
	if l.pushes(p) {
		m := l.rules(p)
		if m == nil {
			return auth.Deny, false
		}
		return m.Decide(&who, op, t, name), true
	}
	k := decisionKey{who: subjectOf(&who, i), op: op, resource: t, name: name}
	if v, ok := l.memory.get(&k, p.epoch, l.a.opt.Clock.Now()); ok {
		return v, true
	}
	l.a.m.misses.Add(1)
	asker := who // only this one goes to the heap
	return l.ask(&asker, k, p)
}

// ask asks the plugin about one action. Those who want to know the same at the same
// time share the question.
func (l *link) ask(who *auth.Client, k decisionKey, p *policy) (auth.Verdict, bool) {
	answer, err, _ := l.flights.Do(k.text(p.epoch), func() (any, error) {
		asked := l.a.opt.Clock.Now()
		out, err := l.question(who, []auth.Action{k.action()})
		if err != nil {
			return auth.Deny, err
		}
		l.keep(&k, out[0], p, asked)
		return out[0].Verdict, nil
	})
	if err != nil {
		return auth.Deny, false
	}
	return answer.(auth.Verdict), true
}

// deadline is the end of one question.
func (l *link) deadline() (context.Context, context.CancelFunc) {
	if l.Bounded {
		return context.WithCancel(l.a.ctx)
	}
	return context.WithTimeout(l.a.ctx, l.a.opt.Timeout)
}

// question asks the plugin once.
func (l *link) question(who *auth.Client, actions []auth.Action) ([]auth.Decision, error) {
	ctx, stop := l.deadline()
	defer stop()
	l.a.m.asked.Add(1)
	out := make([]auth.Decision, len(actions))
	if err := l.Authorizer.Authorize(ctx, who, actions, out); err != nil {
		l.complain(err)
		return nil, err
	}
	return out, nil
}

// complain tells the log that the plugin gave no answer.
func (l *link) complain(err error) {
	if l.a.ctx.Err() == nil {
		l.silence.tell(l.a.opt.Clock.Now(), l.a.opt.Log, "authorizer gave no answer", slog.String("name", l.Name), slog.Any("error", err))
	}
}

// keep remembers a decision if it may be, from when it was asked for: the plugin may have
// decided at once and the answer have been on its way for long.
func (l *link) keep(k *decisionKey, d auth.Decision, p *policy, asked time.Time) {
	ttl := min(d.CacheTTL, auth.MaxAllowTTL)
	if d.Verdict != auth.Allow {
		ttl = min(d.CacheTTL, auth.MaxDenyTTL)
	}
	if ttl <= 0 || p.giving || l.deaf(p, l.a.opt.Clock.Now()) {
		return
	}
	l.memory.put(k, d.Verdict, p.epoch, asked.Add(ttl))
}

// deaf says that news of the policy have not come for so long that decisions must
// not be remembered.
func (l *link) deaf(p *policy, now time.Time) bool {
	return p.first || !p.lost.IsZero() && now.Sub(p.lost) > watchGrace
}

// decideByType is the link's verdict on any resource of a type.
func (l *link) decideByType(c *wire.ConnInfo, i *wire.Identity, key int16, op auth.Operation, t auth.ResourceType) (auth.Verdict, bool) {
	p := l.policy.Load()
	who := l.client(c, i, key, p)
	if l.pushes(p) {
		m := l.rules(p)
		if m == nil {
			return auth.Deny, false
		}
		return m.DecideByResourceType(&who, op, t), true
	}
	ctx, stop := l.deadline()
	defer stop()
	l.a.m.asked.Add(1)
	d, err := l.Authorizer.AuthorizeByResourceType(ctx, &who, op, t)
	if err != nil {
		l.complain(err)
	}
	return d.Verdict, err == nil
}

// decideAll decides about those names that open has the places of, and returns the
// places of those on which the link abstains.
func (l *link) decideAll(c *wire.ConnInfo, i *wire.Identity, key int16, op auth.Operation, t auth.ResourceType,
	names []string, open []int, answers []Answer) (abstained []int) {
	p := l.policy.Load()
	who := l.client(c, i, key, p)
	settle := func(n int, v auth.Verdict) {
		switch v {
		case auth.Allow:
			answers[n] = Yes
		case auth.Abstain:
			abstained = append(abstained, n)
		}
	}
	var unknown []int
	now := l.a.opt.Clock.Now()
	for _, n := range open {
		k := decisionKey{who: subjectOf(&who, i), op: op, resource: t, name: names[n]}
		if l.pushes(p) {
			if m := l.rules(p); m != nil {
				settle(n, m.Decide(&who, op, t, names[n]))
			} else {
				answers[n] = Unknown
			}
		} else if v, ok := l.memory.get(&k, p.epoch, now); ok {
			settle(n, v)
		} else {
			unknown = append(unknown, n)
		}
	}
	l.askAll(&who, i, op, t, names, unknown, p, func(n int, v auth.Verdict, known bool) {
		if known {
			settle(n, v)
		} else {
			answers[n] = Unknown
		}
	})
	return abstained
}

// askAll asks the plugin about many names, auth.MaxActions at a time, and tells what
// it says of each.
func (l *link) askAll(who *auth.Client, i *wire.Identity, op auth.Operation, t auth.ResourceType,
	names []string, places []int, p *policy, tell func(place int, v auth.Verdict, known bool)) {
	l.a.m.misses.Add(uint64(len(places)))
	for some := range slices.Chunk(places, auth.MaxActions) {
		keys := make([]decisionKey, len(some))
		actions := make([]auth.Action, len(some))
		for n, place := range some {
			keys[n] = decisionKey{who: subjectOf(who, i), op: op, resource: t, name: names[place]}
			actions[n] = keys[n].action()
		}
		asked := l.a.opt.Clock.Now()
		out, err := l.question(who, actions)
		for n, place := range some {
			if err != nil {
				tell(place, auth.Deny, false)
				continue
			}
			l.keep(&keys[n], out[n], p, asked)
			tell(place, out[n].Verdict, true)
		}
	}
}
