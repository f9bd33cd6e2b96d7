package sdktest

import (
	"context"
	"sync/atomic"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// anAuthorizer decides by the cluster's rules, until something is planted in it.
type anAuthorizer struct {
	features []string
	decide   func(c *auth.Client, actions []auth.Action, out []auth.Decision) // after the good one
	watch    func(ctx context.Context, news *auth.News, send func(auth.Event) error) error
	set      func(news *auth.News, epoch uint64, rules []auth.Rule) []auth.Rule
}

func goodAuthorizer() *anAuthorizer { return &anAuthorizer{features: []string{auth.FeatureStore}} }

func (a *anAuthorizer) plugin() plugin.Plugin {
	return auth.AuthorizerPlugin(plugin.Plugin{Name: "good", Version: "1.0.0", Validate: plugin.NoConfig, Features: a.features},
		func(_ context.Context, c plugin.Config) (auth.Authorizer, error) {
			return &ruled{anAuthorizer: a}, c.Decode(&struct{}{})
		})
}

// ruled is one instance.
type ruled struct {
	*anAuthorizer
	news    auth.News
	matcher atomic.Pointer[auth.Matcher]
}

// SetRules implements auth.RuleTaker.
func (a *ruled) SetRules(_ context.Context, epoch uint64, rules []auth.Rule) error {
	if a.set != nil {
		rules = a.set(&a.news, epoch, rules)
	} else {
		defer a.news.Set(auth.Event{Epoch: epoch})
	}
	a.matcher.Store(auth.NewMatcher(rules))
	return nil
}

// Authorize implements auth.Authorizer.
func (a *ruled) Authorize(_ context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	m := a.matcher.Load()
	if m == nil {
		m = auth.NewMatcher(nil)
	}
	for i, action := range actions {
		out[i].Verdict = m.Decide(c, action.Operation, action.Resource, action.Name)
	}
	if a.decide != nil {
		a.decide(c, actions, out)
	}
	return nil
}

// AuthorizeByResourceType implements auth.Authorizer.
func (a *ruled) AuthorizeByResourceType(context.Context, *auth.Client, auth.Operation, auth.ResourceType) (auth.Decision, error) {
	return auth.Decision{}, nil
}

// Watch implements auth.Authorizer.
func (a *ruled) Watch(ctx context.Context, send func(auth.Event) error) error {
	if a.watch != nil {
		return a.watch(ctx, &a.news, send)
	}
	return a.news.Watch(ctx, send)
}

// pushing is an authorizer without a store that sends rules.
func pushing(features []string, rules []auth.Rule) plugin.Plugin {
	a := &anAuthorizer{features: features}
	a.watch = func(ctx context.Context, _ *auth.News, send func(auth.Event) error) error {
		if err := send(auth.Event{Epoch: 1, Rules: rules}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return a.plugin()
}

func authorizerFaults() []fault {
	decides := func(change func(c *auth.Client, actions []auth.Action, out []auth.Decision)) plugin.Plugin {
		a := goodAuthorizer()
		a.decide = change
		return a.plugin()
	}
	watches := func(watch func(ctx context.Context, news *auth.News, send func(auth.Event) error) error) plugin.Plugin {
		a := goodAuthorizer()
		a.watch = watch
		return a.plugin()
	}
	sets := func(set func(news *auth.News, epoch uint64, rules []auth.Rule) []auth.Rule) plugin.Plugin {
		a := goodAuthorizer()
		a.set = set
		return a.plugin()
	}
	flip := func(d *auth.Decision) { d.Verdict = auth.Allow - min(d.Verdict, auth.Allow) }
	epoch := uint64(1000)
	var backwards atomic.Uint64
	all := []fault{
		{name: "allows-what-it-does-not-know", finds: "authorizer/unknown", says: "may do operation", plugin: decides(func(_ *auth.Client, actions []auth.Action, out []auth.Decision) {
			for i, a := range actions {
				if a.Operation > auth.OpTwoPhaseCommit {
					out[i].Verdict = auth.Allow
				}
			}
		})},
		{name: "allows-a-type-it-does-not-know", way: WayInProcess, finds: "authorizer/unknown", says: "of type", plugin: decides(func(_ *auth.Client, actions []auth.Action, out []auth.Decision) {
			for i, a := range actions {
				if a.Resource > auth.User || a.Resource == 0 {
					out[i].Verdict = auth.Allow
				}
			}
		})},
		{name: "one-for-all", finds: "authorizer/batch", says: "alone", plugin: decides(func(_ *auth.Client, _ []auth.Action, out []auth.Decision) {
			for i := range out {
				out[i] = out[0]
			}
		})},
		{name: "decisions-backwards", way: WayInProcess, finds: "authorizer/batch", says: "alone", plugin: decides(func(_ *auth.Client, _ []auth.Action, out []auth.Decision) {
			for i := range len(out) / 2 {
				out[i], out[len(out)-1-i] = out[len(out)-1-i], out[i]
			}
		})},
		{name: "unknown-verdict", finds: answersCase, says: "verdict 3", plugin: decides(func(_ *auth.Client, _ []auth.Action, out []auth.Decision) { out[0].Verdict = 3 })},
		{name: "negative-time", finds: answersCase, says: "remembered", plugin: decides(func(_ *auth.Client, _ []auth.Action, out []auth.Decision) { out[0].CacheTTL = -1 })},
		{name: "by-client-id", finds: "authorizer/depends", says: "client id", plugin: decides(func(c *auth.Client, _ []auth.Action, out []auth.Decision) {
			if c.ClientID == "other" {
				flip(&out[0])
			}
		})},
		{name: "by-address", finds: "authorizer/depends", says: "another address", plugin: decides(func(c *auth.Client, _ []auth.Action, out []auth.Decision) {
			if c.Host == "198.51.100.9" {
				flip(&out[0])
			}
		})},
		{name: "allows-without-rules", finds: "authorizer/no-rules", says: "may", plugin: decides(func(_ *auth.Client, _ []auth.Action, out []auth.Decision) {
			for i := range out {
				out[i].Verdict = min(auth.Allow, out[i].Verdict)
				if out[i].Verdict == auth.Deny {
					out[i].Verdict = auth.Allow
				}
			}
		})},
		{name: "ignores-new-rules", finds: "authorizer/rules", says: "after SetRules", plugin: sets(func(news *auth.News, epoch uint64, _ []auth.Rule) []auth.Rule {
			news.Set(auth.Event{Epoch: epoch})
			return ordinaryRules()
		})},
		{name: "tells-of-no-rules", late: lateNews, finds: "authorizer/rules", says: "nothing is told", plugin: sets(func(_ *auth.News, _ uint64, rules []auth.Rule) []auth.Rule { return rules })},
		{name: "watch-is-silent", late: lateNews, finds: "authorizer/watch", says: "nothing is told", plugin: watches(func(ctx context.Context, _ *auth.News, _ func(auth.Event) error) error {
			<-ctx.Done()
			return ctx.Err()
		})},
		{name: "watch-ends", finds: "authorizer/watch", says: "ended", plugin: watches(func(context.Context, *auth.News, func(auth.Event) error) error { return nil })},
		{name: "watch-for-one", late: lateNews, finds: "authorizer/watch", says: "nothing is told", plugin: watches(onlyOneWatch())},
		{name: "epochs-go-back", finds: "authorizer/watch", says: "go back", plugin: watches(func(ctx context.Context, _ *auth.News, send func(auth.Event) error) error {
			n := backwards.Add(1)
			e := epoch
			if n > 2 {
				e -= n
			}
			if err := send(auth.Event{Epoch: e}); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		})},
		{name: "watch-goes-on", finds: "authorizer/watch-fails", says: "returns no error", plugin: watches(func(_ context.Context, _ *auth.News, send func(auth.Event) error) error {
			_ = send(auth.Event{Epoch: 1})
			return nil
		})},
		{name: "change-is-not-told", late: lateNews, finds: "authorizer/change", says: "nothing is told", plugin: goodAuthorizer().plugin(), facts: Facts{Change: func(context.Context) error { return nil }}},
		{name: "pushes-half-a-rule", finds: "authorizer/push", says: "rule 0", plugin: pushing([]string{auth.FeaturePush}, []auth.Rule{{Resource: auth.Topic, Name: "t"}})},
		{name: "pushes-nothing", finds: "authorizer/push", says: "no rules", plugin: pushing([]string{auth.FeaturePush}, nil)},
		{name: "pushes-unasked", finds: "authorizer/push", says: "does not name", plugin: pushing(nil, []auth.Rule{})},
	}
	return all
}

// onlyOneWatch serves the first who asks.
func onlyOneWatch() func(ctx context.Context, news *auth.News, send func(auth.Event) error) error {
	var busy atomic.Bool
	return func(ctx context.Context, news *auth.News, send func(auth.Event) error) error {
		if !busy.CompareAndSwap(false, true) {
			<-ctx.Done()
			return ctx.Err()
		}
		defer busy.Store(false)
		return news.Watch(ctx, send)
	}
}
