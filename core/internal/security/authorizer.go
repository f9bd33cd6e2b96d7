package security

import (
	"context"
	"log/slog"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Answer says whether a client may do something. The zero value is no.
type Answer uint8

// The answers.
const (
	No Answer = iota
	Yes
	Unknown // it can't be found out now: neither do it nor say no
)

// Link is one authorizer of the chain.
type Link struct {
	Name       string // in the catalogue
	Authorizer auth.Authorizer
	// Has says whether the plugin in service at this moment has a feature. It is asked
	// for every decision.
	Has func(feature string) bool
	// Bounded says that the Authorizer ends each question by itself, as that of a plugin
	// does after the timeout of its entry.
	Bounded bool
}

// AuthorizerOptions make an Authorizer. Chain, SuperUser and Clock are required.
type AuthorizerOptions struct {
	// Chain are asked in this order until one does not abstain. The end denies.
	Chain []Link
	// SuperUser says that a principal may do everything (super.users).
	SuperUser func(principal string) bool
	// Timeout bounds one question of a Link that is not Bounded; 0: defaultTimeout.
	Timeout time.Duration
	Clock   clock.Clock
	Log     *slog.Logger      // nil: nothing is logged
	Metrics *metrics.Registry // nil: a private one
}

// defaultTimeout is for an authorizer that has no deadline of its own.
const defaultTimeout = time.Second

// Authorizer says what clients may do. It is safe for concurrent use.
type Authorizer struct {
	opt   AuthorizerOptions
	chain []*link
	m     *authorizerMetrics
	stop  context.CancelFunc
	ctx   context.Context
}

// NewAuthorizer makes an Authorizer and begins to watch the policies of its chain.
// Close it.
func NewAuthorizer(o AuthorizerOptions) *Authorizer {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	a := &Authorizer{opt: o, m: newAuthorizerMetrics(o.Metrics)}
	a.ctx, a.stop = context.WithCancel(context.Background())
	for _, l := range o.Chain {
		a.chain = append(a.chain, newLink(a, l))
	}
	for _, l := range a.chain {
		l.start()
	}
	return a
}

// Close ends the watching and waits for it. Questions that run come to an end.
func (a *Authorizer) Close() {
	a.stop()
	for _, l := range a.chain {
		l.close()
	}
}

// Allowed says whether the client of a connection may do op to a resource.
//
// Hot: per topic of a request. 0 allocs when the decision is remembered or made by
// pushed rules; else it blocks until the authorizer has answered or its time is up.
func (a *Authorizer) Allowed(c *wire.ConnInfo, key int16, op auth.Operation, t auth.ResourceType, name string) Answer {
	i := c.Identity()
	switch {
	case i == nil:
		return a.count(No)
	case a.opt.SuperUser(i.Principal):
		a.m.superUser.Add(1)
		return Yes
	}
	for _, l := range a.chain {
		switch v, known := l.decide(c, i, key, op, t, name); {
		case !known:
			return a.count(Unknown)
		case v == auth.Allow:
			return Yes
		case v == auth.Deny:
			return a.count(No)
		}
	}
	return a.count(No)
}

// AllowedByType says whether the client may do op to at least one resource of the
// type. It is never remembered.
func (a *Authorizer) AllowedByType(c *wire.ConnInfo, key int16, op auth.Operation, t auth.ResourceType) Answer {
	i := c.Identity()
	switch {
	case i == nil:
		return a.count(No)
	case a.opt.SuperUser(i.Principal):
		a.m.superUser.Add(1)
		return Yes
	}
	for _, l := range a.chain {
		switch v, known := l.decideByType(c, i, key, op, t); {
		case !known:
			return a.count(Unknown)
		case v == auth.Allow:
			return Yes
		case v == auth.Deny:
			return a.count(No)
		}
	}
	return a.count(No)
}

// AllowedAll is Allowed for many names, in their order, with as few questions as
// possible: what is not remembered is asked for together.
func (a *Authorizer) AllowedAll(c *wire.ConnInfo, key int16, op auth.Operation, t auth.ResourceType, names []string) []Answer {
	answers := make([]Answer, len(names)) // no
	i := c.Identity()
	switch {
	case i == nil:
	case a.opt.SuperUser(i.Principal):
		a.m.superUser.Add(uint64(len(names)))
		for n := range answers {
			answers[n] = Yes
		}
		return answers
	default:
		open := make([]int, len(names)) // on which all so far abstained
		for n := range open {
			open[n] = n
		}
		for _, l := range a.chain {
			open = l.decideAll(c, i, key, op, t, names, open, answers)
		}
	}
	for _, answer := range answers {
		if answer != Yes {
			a.count(answer)
		}
	}
	return answers
}

// count counts an answer that is not yes.
func (a *Authorizer) count(answer Answer) Answer {
	if answer == Unknown {
		a.m.unknown.Add(1)
	} else {
		a.m.denied.Add(1)
	}
	return answer
}
