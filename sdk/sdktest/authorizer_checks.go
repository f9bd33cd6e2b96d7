package sdktest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

func authorizerChecks() []check {
	all := []check{
		{name: "authorizer/batch", says: "many actions at once are answered as one by one, in their order", run: checkBatch},
		{name: "authorizer/unknown", says: "an operation or a type that is not known is not allowed", run: checkUnknown},
		{name: "authorizer/depends", says: "decisions do not depend on the client's id, request or listener, nor on its address without uses-host", run: checkDepends},
		{name: "authorizer/no-rules", says: "without rules nothing is allowed", run: checkNoRules},
		{name: "authorizer/rules", says: "new rules decide at once, and Watch tells of them", run: checkRules},
		{name: "authorizer/watch", says: "Watch tells the present epoch at once, to everybody, and ends with its context", run: checkWatch},
		{name: "authorizer/watch-fails", says: "Watch ends when nobody takes what it tells", run: checkWatchFails},
		{name: "authorizer/change", says: "Watch tells a greater epoch within a second after the policy changed", run: checkChange},
		{name: "authorizer/push", says: "rules that it pushes are whole", run: checkPush},
	}
	for i := range all {
		all[i].kind = plugin.Authorizer
	}
	return all
}

// authorizing runs a case with one instance.
func authorizing(ctx context.Context, b *bench, run func(t *authorizerTalk) error) error {
	t, err := b.talk(ctx)
	if err != nil {
		return err
	}
	if err := run(t.(*authorizerTalk)); err != nil {
		return err
	}
	return t.end()
}

// withStore runs a case of authorizers that take the cluster's rules.
func withStore(ctx context.Context, b *bench, run func(t *authorizerTalk) error) error {
	return authorizing(ctx, b, func(t *authorizerTalk) error {
		if !t.in.Description().Has(auth.FeatureStore) {
			return skipped("it has no feature " + auth.FeatureStore)
		}
		return run(t)
	})
}

func checkBatch(ctx context.Context, b *bench) error {
	return authorizing(ctx, b, func(t *authorizerTalk) error {
		all := actions()
		backwards := slices.Clone(all)
		slices.Reverse(backwards)
		for _, c := range clients() {
			many, err := t.authorize(ctx, c, all)
			if err != nil {
				return err
			}
			turned, err := t.authorize(ctx, c, backwards)
			if err != nil {
				return err
			}
			slices.Reverse(turned)
			for i := range all {
				one, err := t.authorize(ctx, c, all[i:i+1])
				if err != nil {
					return err
				}
				if one[0].Verdict != many[i].Verdict || turned[i].Verdict != many[i].Verdict {
					return fmt.Errorf("2: %s:%s, %s %s %q: alone %s, among others %s, and in another order %s", c.PrincipalType, c.PrincipalName,
						all[i].Operation, all[i].Resource, all[i].Name, verdictText(one[0].Verdict), verdictText(many[i].Verdict), verdictText(turned[i].Verdict))
				}
			}
		}
		return nil
	})
}

func checkUnknown(ctx context.Context, b *bench) error {
	return authorizing(ctx, b, func(t *authorizerTalk) error {
		var odd []auth.Action
		for _, name := range []string{"orders", "alice.events", "billing.invoices", auth.ClusterName} {
			for _, op := range []auth.Operation{0, auth.OpAny, auth.OpAll, 16, 99, 127} {
				odd = append(odd, auth.Action{Operation: op, Resource: auth.Topic, Name: name})
			}
			for _, r := range []auth.ResourceType{0, auth.AnyResource, 8, 99, 127} {
				odd = append(odd, auth.Action{Operation: auth.OpRead, Resource: r, Name: name})
			}
		}
		for _, c := range clients() {
			out, err := t.authorize(ctx, c, odd)
			if err != nil {
				return err
			}
			for i, d := range out {
				if d.Verdict == auth.Allow {
					return fmt.Errorf("1: %s:%s may do operation %d on %q of type %d", c.PrincipalType, c.PrincipalName, odd[i].Operation, odd[i].Name, odd[i].Resource)
				}
			}
			for _, a := range odd[:11] {
				if v, err := t.byType(ctx, c, a.Operation, a.Resource); err != nil || v == auth.Allow {
					return errors.Join(err, fmt.Errorf("1: by type %d: operation %d: %s", a.Resource, a.Operation, verdictText(v)))
				}
			}
		}
		return nil
	})
}

func checkDepends(ctx context.Context, b *bench) error {
	return authorizing(ctx, b, func(t *authorizerTalk) error {
		changes := map[string]func(c *auth.Client){
			"once more":              func(*auth.Client) {},
			"with another client id": func(c *auth.Client) { c.ClientID = "other" },
			"by another request":     func(c *auth.Client) { c.RequestKey = 1 },
			"by another listener":    func(c *auth.Client) { c.Listener = "OTHER" },
		}
		if !t.in.Description().Has(auth.FeatureUsesHost) {
			changes["from another address"] = func(c *auth.Client) { c.Host = "198.51.100.9" }
		}
		for _, c := range clients() {
			want, err := t.authorize(ctx, c, actions())
			if err != nil {
				return err
			}
			for name, change := range changes {
				other := *c
				change(&other)
				got, err := t.authorize(ctx, &other, actions())
				if err != nil {
					return err
				}
				if verdictsOf(got) != verdictsOf(want) {
					return fmt.Errorf("3: %s:%s: %s, %s %s", c.PrincipalType, c.PrincipalName, verdictsOf(want), name, verdictsOf(got))
				}
			}
		}
		return nil
	})
}

func checkNoRules(ctx context.Context, b *bench) error {
	if b.subject.Facts.Open {
		return skipped("its config allows what no rule names, as the facts say")
	}
	return withStore(ctx, b, func(t *authorizerTalk) error {
		if err := t.setRules(ctx, 10, []auth.Rule{}); err != nil {
			return err
		}
		for _, c := range clients() {
			out, err := t.authorize(ctx, c, actions())
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(out, func(d auth.Decision) bool { return d.Verdict == auth.Allow }); i >= 0 {
				return fmt.Errorf("%s:%s may %s %q", c.PrincipalType, c.PrincipalName, actions()[i].Operation, actions()[i].Name)
			}
		}
		return nil
	})
}

func checkRules(ctx context.Context, b *bench) error {
	return withStore(ctx, b, func(t *authorizerTalk) error {
		w := t.watch(ctx)
		defer w.cancel()
		last, err := w.next(ctx)
		if err != nil {
			return err
		}
		allow := auth.Rule{
			Resource: auth.Topic, Name: "changing", Pattern: auth.Literal, Principal: "User:alice", Host: auth.Wildcard,
			Operation: auth.OpRead, Permission: auth.PermissionAllow,
		}
		deny := allow
		deny.Permission = auth.PermissionDeny
		for n, rules := range [][]auth.Rule{{allow}, {allow, deny}, {allow}, {}} {
			if err := t.setRules(ctx, uint64(20+n), rules); err != nil {
				return err
			}
			out, err := t.authorize(ctx, clients()[0], []auth.Action{{Operation: auth.OpRead, Resource: auth.Topic, Name: "changing"}})
			if err != nil {
				return err
			}
			if allowed := out[0].Verdict == auth.Allow; allowed != (len(rules) == 1) && !(b.subject.Facts.Open && len(rules) == 0) {
				return fmt.Errorf("after SetRules number %d with %d rules: %s", n, len(rules), verdictText(out[0].Verdict))
			}
			e, err := w.next(ctx)
			switch {
			case err != nil:
				return fmt.Errorf("4: after SetRules: %w", err)
			case e.Epoch <= last.Epoch:
				return fmt.Errorf("4: epoch %d after %d", e.Epoch, last.Epoch)
			}
			last = e
		}
		return w.end()
	})
}

func checkPush(ctx context.Context, b *bench) error {
	return authorizing(ctx, b, func(t *authorizerTalk) error {
		pushes := t.in.Description().Has(auth.FeaturePush)
		w := t.watch(ctx)
		defer w.cancel()
		e, err := w.next(ctx)
		switch {
		case err != nil:
			return err
		case !pushes && e.Rules != nil:
			return fmt.Errorf("5: it sends rules and does not name the feature %s", auth.FeaturePush)
		case !pushes:
			return errors.Join(skipped("it has no feature "+auth.FeaturePush), w.end())
		case e.Rules == nil:
			return errors.New("5: the first event has no rules: an empty list that is not nil allows nothing")
		case len(e.Rules) > auth.MaxRules:
			return fmt.Errorf("5: %d rules, at most %d", len(e.Rules), auth.MaxRules)
		}
		for i, r := range e.Rules {
			if err := r.Check(); err != nil {
				return fmt.Errorf("5: rule %d: %w", i, err)
			}
		}
		return w.end()
	})
}
