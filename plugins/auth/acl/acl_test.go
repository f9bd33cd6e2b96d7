package acl

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

func newACL(t *testing.T, config string) *authorizer {
	t.Helper()
	p := Plugin()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	made, err := p.New(t.Context(), plugin.Config{JSON: []byte(config)})
	if err != nil {
		t.Fatal(err)
	}
	return made.(*authorizer)
}

func alice() *auth.Client {
	return &auth.Client{PrincipalType: "User", PrincipalName: "alice", Host: "10.0.0.1"}
}

// allow is a rule for alice on a topic.
func allow(op auth.Operation, topic string) auth.Rule {
	return auth.Rule{
		Resource: auth.Topic, Name: topic, Pattern: auth.Literal, Principal: "User:alice", Host: auth.Wildcard,
		Operation: op, Permission: auth.PermissionAllow,
	}
}

func verdicts(t *testing.T, a *authorizer, op auth.Operation, topics ...string) []auth.Verdict {
	t.Helper()
	var actions []auth.Action
	for _, name := range topics {
		actions = append(actions, auth.Action{Operation: op, Resource: auth.Topic, Name: name})
	}
	out := make([]auth.Decision, len(actions))
	if err := a.Authorize(t.Context(), alice(), actions, out); err != nil {
		t.Fatal(err)
	}
	var got []auth.Verdict
	for _, d := range out {
		if most := map[auth.Verdict]any{auth.Allow: auth.MaxAllowTTL}[d.Verdict]; d.CacheTTL <= 0 || most == nil && d.CacheTTL > auth.MaxDenyTTL {
			t.Errorf("decision %+v may be remembered for too long, or not at all", d)
		}
		got = append(got, d.Verdict)
	}
	return got
}

func TestDecidesByTheStoresRules(t *testing.T) {
	a := newACL(t, `{}`)
	if err := a.SetRules(t.Context(), 1, []auth.Rule{allow(auth.OpRead, "orders")}); err != nil {
		t.Fatal(err)
	}
	if got, want := verdicts(t, a, auth.OpRead, "orders", "other"), []auth.Verdict{auth.Allow, auth.Abstain}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("read: %v, want %v", got, want)
	}
	if got := verdicts(t, a, auth.OpWrite, "orders")[0]; got != auth.Deny {
		t.Errorf("write: %v, want Deny", got)
	}
	d, err := a.AuthorizeByResourceType(t.Context(), alice(), auth.OpRead, auth.Topic)
	if err != nil || d.Verdict != auth.Allow {
		t.Errorf("any topic: %+v, %v", d, err)
	}
}

func TestAllowEveryoneIfNoACLFound(t *testing.T) {
	a := newACL(t, `{"allow.everyone.if.no.acl.found":true}`)
	if err := a.SetRules(t.Context(), 1, []auth.Rule{allow(auth.OpRead, "orders")}); err != nil {
		t.Fatal(err)
	}
	if got := verdicts(t, a, auth.OpWrite, "orders", "other"); got[0] != auth.Deny || got[1] != auth.Allow {
		t.Errorf("write: %v, want Deny for the topic with rules and Allow for the other", got)
	}
}

func TestDecidesNothingBeforeRulesCame(t *testing.T) {
	for _, config := range []string{`{}`, `{"allow.everyone.if.no.acl.found":true}`} {
		a := newACL(t, config)
		out := make([]auth.Decision, 1)
		err := a.Authorize(t.Context(), alice(), []auth.Action{{Operation: auth.OpRead, Resource: auth.Topic, Name: "t"}}, out)
		if !errors.Is(err, plugin.ErrUnavailable) || out[0].Verdict != auth.Deny {
			t.Errorf("%s: %+v, %v, want no answer", config, out[0], err)
		}
		if _, err := a.AuthorizeByResourceType(t.Context(), alice(), auth.OpRead, auth.Topic); !errors.Is(err, plugin.ErrUnavailable) {
			t.Errorf("%s: any topic: %v, want no answer", config, err)
		}
	}
}

func TestOlderRulesAreIgnored(t *testing.T) {
	a := newACL(t, `{}`)
	if err := a.SetRules(t.Context(), 7, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.SetRules(t.Context(), 6, []auth.Rule{allow(auth.OpRead, "orders")}); err != nil {
		t.Fatal(err)
	}
	if got := verdicts(t, a, auth.OpRead, "orders")[0]; got != auth.Abstain {
		t.Errorf("verdict %v by rules that were withdrawn", got)
	}
	stop := errors.New("enough")
	if err := a.Watch(t.Context(), func(e auth.Event) error {
		if e.Epoch != 7 || e.Rules != nil {
			t.Errorf("event %+v, want epoch 7 without rules", e)
		}
		return stop
	}); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestRulesOfEpochZeroCount: a store that never changed is a store.
func TestRulesOfEpochZeroCount(t *testing.T) {
	a := newACL(t, `{}`)
	if err := a.SetRules(t.Context(), 0, []auth.Rule{allow(auth.OpRead, "orders")}); err != nil {
		t.Fatal(err)
	}
	if got := verdicts(t, a, auth.OpRead, "orders")[0]; got != auth.Allow {
		t.Errorf("verdict %v, want Allow", got)
	}
}

// TestRulesChangeBetweenQuestions: one question is answered by one set of rules.
func TestRulesChangeBetweenQuestions(t *testing.T) {
	a := newACL(t, `{}`)
	if err := a.SetRules(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for epoch := range uint64(200) {
			rules := []auth.Rule{allow(auth.OpRead, "a"), allow(auth.OpRead, "b")}
			if err := a.SetRules(t.Context(), epoch+2, rules[:2*(epoch%2)]); err != nil {
				t.Error(err)
			}
		}
	})
	for range 200 {
		if got := verdicts(t, a, auth.OpRead, "a", "b"); got[0] != got[1] {
			t.Fatalf("one question by two sets of rules: %v", got)
		}
	}
	wait.Wait()
}

func TestConfig(t *testing.T) {
	for _, bad := range []string{`{"allow.everyone.if.no.acl.found":"yes"}`, `{"super.users":"User:a"}`} {
		if err := Plugin().Validate([]byte(bad)); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

func TestDecisionsAllocateNothing(t *testing.T) {
	a := newACL(t, `{}`)
	if err := a.SetRules(t.Context(), 1, []auth.Rule{allow(auth.OpRead, "orders")}); err != nil {
		t.Fatal(err)
	}
	c, actions, out := alice(), []auth.Action{{Operation: auth.OpRead, Resource: auth.Topic, Name: "orders"}}, make([]auth.Decision, 1)
	if n := testing.AllocsPerRun(100, func() {
		if err := a.Authorize(t.Context(), c, actions, out); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a decision, want 0", n)
	}
}
