package security

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/sdk/auth"
)

func TestPushedRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := auth.Rule{Resource: auth.Topic, Name: "a", Pattern: auth.Literal, Principal: "User:alice", Host: "*", Operation: auth.OpRead, Permission: auth.PermissionAllow}
		s := newStub(nil)
		a := chainOf(t, Link{Name: "x", Authorizer: s, Has: features(auth.FeaturePush)})
		alice := client("alice")
		if a.read(alice, "a") != Unknown {
			t.Error("without rules something is known")
		}
		s.news <- auth.Event{Epoch: 1, Rules: []auth.Rule{rule}}
		synctest.Wait()
		if a.read(alice, "a") != Yes || a.read(client("bob"), "a") != No || a.read(alice, "b") != No {
			t.Error("the rules are not what is decided by")
		}
		s.news <- auth.Event{Epoch: 2}
		synctest.Wait()
		if a.read(alice, "a") != Yes {
			t.Error("news without rules took the rules away")
		}
		s.news <- auth.Event{Epoch: 3, Rules: []auth.Rule{}}
		synctest.Wait()
		if a.read(alice, "a") != No {
			t.Error("no rules allow something")
		}
		s.news <- auth.Event{Epoch: 4, Rules: []auth.Rule{rule}}
		close(s.news)
		time.Sleep(auth.MaxAllowTTL)
		if a.read(alice, "a") != Yes {
			t.Error("rules ended before their time")
		}
		time.Sleep(time.Second)
		if a.read(alice, "a") != Unknown {
			t.Error("rules without news are in force for ever")
		}
		if s.asked != 0 {
			t.Errorf("an authorizer that pushes was asked %d times", s.asked)
		}
	})
}

// Rules that can't be used are not known: what they may deny is not for the next
// authorizer to allow. Those that name hosts count whatever features the plugin has.
func TestPushedRulesThatDeny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deny := auth.Rule{Resource: auth.Topic, Name: "a", Pattern: auth.Literal, Principal: "User:alice", Host: "192.0.2.1", Operation: auth.OpRead, Permission: auth.PermissionDeny}
		s, next := newStub(nil), newStub(map[string]auth.Verdict{"a": auth.Allow, "b": auth.Allow})
		a := chainOf(t, Link{Name: "x", Authorizer: s, Has: features(auth.FeaturePush)}, Link{Name: "next", Authorizer: next, Has: features()})
		alice := client("alice")
		s.news <- auth.Event{Epoch: 1, Rules: make([]auth.Rule, auth.MaxRules+1)}
		synctest.Wait()
		if a.read(alice, "a") != Unknown {
			t.Error("more rules than there may be allow something")
		}
		time.Sleep(time.Second) // until it is asked again
		s.news <- auth.Event{Epoch: 2, Rules: []auth.Rule{deny}}
		synctest.Wait()
		if a.read(alice, "a") != No || a.read(alice, "b") != Yes {
			t.Error("the rule of a host is not in force")
		}
	})
}

// Clients are let in when rules that are pushed have come: before, every question would
// cost its client the connection.
func TestPushedRulesAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(nil)
		s.noStore = true
		a := chainOf(t, Link{Name: "x", Authorizer: s, Has: features(auth.FeaturePush)})
		a.SetRules(1, nil)
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if a.Await(short) {
			t.Error("nobody waits for the first rules")
		}
		s.news <- auth.Event{Epoch: 1, Rules: []auth.Rule{}}
		if !a.Await(t.Context()) || a.read(client("alice"), "a") != No {
			t.Error("after the first rules nothing is known")
		}
	})
}

func TestStoredRulesReachThePluginInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(nil)
		s.err = errors.New("not yet")
		plain := newStub(nil)
		plain.noStore = true
		links := []Link{{Name: "acl", Authorizer: s, Has: features(auth.FeatureStore)}, {Name: "x", Authorizer: plain, Has: features()}}
		a := chainOf(t, links...)
		if !a.TakesRules() {
			t.Error("nobody takes rules")
		}
		a.SetRules(1, []auth.Rule{{Name: "a"}})
		a.SetRules(2, []auth.Rule{{Name: "b"}})
		synctest.Wait()
		s.set(func() { s.err = nil })
		time.Sleep(time.Second)
		s.set(func() {
			if len(s.rules) != 1 || s.rules[0].Name != "b" {
				t.Errorf("the plugin has %v, want the newest", s.rules)
			}
		})
		plain.set(func() {
			if plain.rules != nil {
				t.Error("a plugin without the feature got rules")
			}
		})
	})
}

// A rule for names that begin with * is most likely meant for all names.
func TestPrefixedStarIsToldOf(t *testing.T) {
	var told bytes.Buffer
	a := NewAuthorizer(AuthorizerOptions{SuperUser: func(string) bool { return false }, Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(&told, nil))})
	defer a.Close()
	a.SetRules(1, []auth.Rule{{Name: auth.Wildcard, Pattern: auth.Literal, Principal: "User:a"}, {Name: "x", Pattern: auth.Prefixed, Principal: "User:b"}})
	if told.Len() > 0 {
		t.Errorf("%s", &told)
	}
	a.SetRules(2, []auth.Rule{{Name: auth.Wildcard, Pattern: auth.Prefixed, Principal: "User:c", Resource: auth.Topic, Operation: auth.OpRead}})
	if text := told.String(); !strings.Contains(text, "names that begin with *") || !strings.Contains(text, "User:c") {
		t.Errorf("told %q", text)
	}
}

// stubborn is an authorizer that takes no new rules while it refuses.
type stubborn struct {
	*policyStub
	refuses atomic.Bool
}

func (s *stubborn) SetRules(ctx context.Context, epoch uint64, rules []auth.Rule) error {
	if s.refuses.Load() {
		return errors.New("not now")
	}
	return s.policyStub.SetRules(ctx, epoch, rules)
}

// While an authorizer does not take the cluster's newest rules, what it allowed by older
// ones does not count, and what it says meanwhile is not remembered.
func TestRulesThatAreNotTakenEndWhatIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stubborn{policyStub: newStub(map[string]auth.Verdict{"a": auth.Allow})}
		a := chainOf(t, Link{Name: "acl", Authorizer: s, Has: features(auth.FeatureStore)})
		s.news <- auth.Event{Epoch: 1}
		a.SetRules(1, nil)
		if !a.WaitRules(t.Context(), 1) {
			t.Fatal("the rules were not taken")
		}
		alice := client("alice")
		read := func(want Answer, asked int) {
			t.Helper()
			if got := a.read(alice, "a"); got != want || s.asked != asked {
				t.Errorf("answer %d after %d questions, want %d after %d", got, s.asked, want, asked)
			}
		}
		read(Yes, 1)
		read(Yes, 1)
		s.refuses.Store(true)
		a.SetRules(2, nil)
		synctest.Wait()
		read(Yes, 2) // by the plugin, whose supervisor is to keep it from deciding
		s.set(func() { clear(s.verdicts) })
		read(No, 3)
		s.refuses.Store(false)
		if !a.WaitRules(t.Context(), 2) {
			t.Fatal("the rules were not taken in the end")
		}
		read(No, 4)
		read(No, 4)
	})
}

// When rules are in force, nothing that was decided by older ones is remembered.
func TestRulesInForceEndWhatIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(map[string]auth.Verdict{"a": auth.Allow})
		a := chainOf(t, Link{Name: "acl", Authorizer: s, Has: features(auth.FeatureStore)})
		s.news <- auth.Event{Epoch: 1}
		synctest.Wait()
		a.SetRules(1, nil)
		if !a.Await(t.Context()) || !a.WaitRules(t.Context(), 1) {
			t.Fatal("the rules were not taken")
		}
		alice := client("alice")
		a.read(alice, "a")
		s.set(func() { s.verdicts["a"] = auth.Deny })
		if a.read(alice, "a") != Yes {
			t.Fatal("the decision was not remembered")
		}
		a.SetRules(2, nil)
		if !a.WaitRules(t.Context(), 2) || a.read(alice, "a") != No {
			t.Error("a decision outlived its rules")
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if a.WaitRules(ctx, 3) {
			t.Error("rules that nobody gave are in force")
		}
	})
}
