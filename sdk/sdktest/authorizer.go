package sdktest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/mortisemq/mortise/sdk/auth"
)

// authorizerTalk talks with an authorizer.
type authorizerTalk struct {
	spoken
	a auth.Authorizer
}

// ordinaryRules are the cluster's rules that an authorizer with FeatureStore gets.
func ordinaryRules() []auth.Rule {
	rule := func(t auth.ResourceType, name string, pattern auth.PatternType, principal string, op auth.Operation, p auth.Permission) auth.Rule {
		return auth.Rule{Resource: t, Name: name, Pattern: pattern, Principal: principal, Host: auth.Wildcard, Operation: op, Permission: p}
	}
	return []auth.Rule{
		rule(auth.Topic, "orders", auth.Literal, "User:alice", auth.OpRead, auth.PermissionAllow),
		rule(auth.Topic, "team-", auth.Prefixed, "Group:staff", auth.OpWrite, auth.PermissionAllow),
		rule(auth.Topic, "team-secret", auth.Literal, "User:alice", auth.OpAll, auth.PermissionDeny),
		rule(auth.Group, auth.Wildcard, auth.Literal, "User:*", auth.OpRead, auth.PermissionAllow),
		rule(auth.Cluster, auth.ClusterName, auth.Literal, "User:mallory", auth.OpAll, auth.PermissionDeny),
	}
}

// setRules gives the cluster's rules to an authorizer with FeatureStore.
func (t *authorizerTalk) setRules(ctx context.Context, epoch uint64, rules []auth.Rule) error {
	taker, ok := t.a.(auth.RuleTaker)
	if !ok {
		return fmt.Errorf("it names the feature %s and is no auth.RuleTaker", auth.FeatureStore)
	}
	given := slices.Clone(rules)
	if err := t.b.guarded(ctx, func() error { return taker.SetRules(ctx, epoch, given) }); err != nil {
		return fmt.Errorf("SetRules: %w", err)
	}
	return nil
}

// clients are those who ask.
func clients() []*auth.Client {
	var all []*auth.Client
	for _, name := range []string{"alice", "mallory", "billing"} {
		for _, groups := range [][]string{nil, {"staff"}} {
			all = append(all, &auth.Client{PrincipalType: auth.UserType, PrincipalName: name, Groups: groups, Host: "192.0.2.7", RequestKey: 3})
		}
	}
	return append(all, &auth.Client{PrincipalType: "Robot", PrincipalName: "r2", Host: "2001:db8::1", RequestKey: -1})
}

// actions are what they want to do.
func actions() []auth.Action {
	var all []auth.Action
	for _, name := range []string{"orders", "team-a", "team-secret", "alice.events", "billing.invoices", "other"} {
		for _, op := range []auth.Operation{auth.OpRead, auth.OpWrite, auth.OpDescribe, auth.OpAlterConfigs} {
			all = append(all, auth.Action{Operation: op, Resource: auth.Topic, Name: name, LogIfDenied: true})
		}
		all = append(all, auth.Action{Operation: auth.OpRead, Resource: auth.Group, Name: name},
			auth.Action{Operation: auth.OpWrite, Resource: auth.TransactionalID, Name: name})
	}
	return append(all, auth.Action{Operation: auth.OpClusterAction, Resource: auth.Cluster, Name: auth.ClusterName})
}

// authorize asks, and checks what a broker checks.
func (t *authorizerTalk) authorize(ctx context.Context, c *auth.Client, actions []auth.Action) ([]auth.Decision, error) {
	out, client, asked := make([]auth.Decision, len(actions)), *c, slices.Clone(actions)
	client.Groups = slices.Clone(c.Groups)
	if err := t.b.guarded(ctx, func() error { return t.a.Authorize(ctx, c, actions, out) }); err != nil {
		return nil, err
	}
	if !slices.Equal(asked, actions) || !reflect.DeepEqual(client, *c) {
		return nil, errors.New("it changed the question")
	}
	for i, d := range out {
		if err := checkDecision(d); err != nil {
			return nil, fmt.Errorf("action %d: %w", i, err)
		}
	}
	return out, nil
}

func checkDecision(d auth.Decision) error {
	switch {
	case d.Verdict > auth.Abstain:
		return fmt.Errorf("verdict %d is none", d.Verdict)
	case d.CacheTTL < 0:
		return fmt.Errorf("to be remembered for %s", d.CacheTTL)
	}
	return nil
}

// byType asks about a whole type of resource.
func (t *authorizerTalk) byType(ctx context.Context, c *auth.Client, op auth.Operation, r auth.ResourceType) (auth.Verdict, error) {
	var d auth.Decision
	err := t.b.guarded(ctx, func() (err error) {
		d, err = t.a.AuthorizeByResourceType(ctx, c, op, r)
		return err
	})
	if err != nil {
		return auth.Deny, fmt.Errorf("by resource type: %w", err)
	}
	return d.Verdict, checkDecision(d)
}

// ordinary implements talk: some actions of one client.
func (t *authorizerTalk) ordinary(ctx context.Context, n int) (string, error) {
	all := clients()
	out, err := t.authorize(ctx, all[n%len(all)], actions())
	if err != nil {
		return "", err
	}
	byType, err := t.byType(ctx, all[n%len(all)], auth.OpWrite, auth.Topic)
	return verdictsOf(out) + verdictText(byType), err
}

// verdictsOf is a letter for each verdict.
func verdictsOf(out []auth.Decision) string {
	var text strings.Builder
	for _, d := range out {
		text.WriteString(verdictText(d.Verdict))
	}
	return text.String()
}

func verdictText(v auth.Verdict) string { return [...]string{"d", "A", "-"}[v] }

func (t *authorizerTalk) empty(ctx context.Context) error {
	_, err := t.authorize(ctx, clients()[0], []auth.Action{})
	return err
}

func (t *authorizerTalk) largest(ctx context.Context) error {
	many := make([]auth.Action, auth.MaxActions)
	for i := range many {
		name := fmt.Sprintf("topic-%d-%s", i, strings.Repeat("x", 200))
		many[i] = auth.Action{Operation: auth.OpRead, Resource: auth.Topic, Name: name}
	}
	many[0].Name = strings.Repeat("n", auth.MaxNameBytes)
	c := *clients()[0]
	for i := range auth.MaxGroups {
		c.Groups = append(c.Groups, fmt.Sprintf("group-%05d", i))
	}
	if _, err := t.authorize(ctx, &c, many); err != nil {
		return err
	}
	if !t.in.Description().Has(auth.FeatureStore) {
		return nil
	}
	rules := make([]auth.Rule, 20_000)
	for i := range rules {
		rules[i] = ordinaryRules()[i%5]
		rules[i].Name = fmt.Sprintf("r-%d", i)
	}
	return t.setRules(ctx, 2, rules)
}

// odd implements talk. A name that is no UTF-8 reaches a process as another name, so
// the broker denies whatever it says.
func (t *authorizerTalk) odd(ctx context.Context) error {
	for _, name := range []string{"", "*", "a\xff", "\x00", "日本", strings.Repeat("é", 500)} {
		for _, c := range []*auth.Client{
			{PrincipalType: "User", PrincipalName: "u\xff", ClientID: "\xff", Listener: "\xff", RequestKey: math.MaxInt16},
			{PrincipalType: "Ü", PrincipalName: "*", Groups: []string{"", "*"}, Host: "no address", RequestKey: math.MinInt16},
			{PrincipalType: "User", PrincipalName: strings.Repeat("n", auth.MaxNameBytes)},
		} {
			if _, err := t.authorize(ctx, c, []auth.Action{{Operation: auth.OpRead, Resource: auth.Topic, Name: name}}); err != nil {
				return fmt.Errorf("name %q: %w", name, err)
			}
		}
	}
	return nil
}
