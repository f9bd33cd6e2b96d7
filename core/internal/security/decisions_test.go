package security

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

func TestDecisionsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(map[string]auth.Verdict{"a": auth.Allow, "b": auth.Deny})
		a := chainOf(t, Link{Name: "x", Authorizer: s, Has: features()})
		expect := func(says string, c *wire.ConnInfo, topic string, want Answer, asked int) {
			t.Helper()
			if got := a.read(c, topic); got != want || s.asked != asked {
				t.Fatalf("%s: %d after %d questions, want %d after %d", says, got, s.asked, want, asked)
			}
		}
		alice := client("alice")
		expect("before any news nothing is remembered", alice, "a", Yes, 1)
		expect("as before", alice, "a", Yes, 2)
		s.news <- auth.Event{Epoch: 1}
		synctest.Wait()
		expect("first", alice, "a", Yes, 3)
		expect("again", alice, "a", Yes, 3)
		expect("another connection of hers", client("alice"), "a", Yes, 3)
		expect("somebody else", client("bob"), "a", Yes, 4)
		inGroup := connection("SASL")
		inGroup.SetIdentity(wire.NewIdentity("User", "alice", "staff"))
		expect("her in a group", inGroup, "a", Yes, 5)
		expect("a refusal", alice, "b", No, 6)
		time.Sleep(auth.MaxDenyTTL - time.Second)
		expect("a refusal is remembered", alice, "b", No, 6)
		time.Sleep(time.Second)
		expect("but shortly", alice, "b", No, 7)
		time.Sleep(auth.MaxAllowTTL - auth.MaxDenyTTL - time.Second)
		expect("an allowance is remembered for long", alice, "a", Yes, 7)
		time.Sleep(time.Second)
		expect("but not for ever, whatever the plugin says", alice, "a", Yes, 8)
	})
}

// What a healthy authorizer would refuse is refused from the moment that it says
// that its policy changed, caches included.
func TestNewsEndWhatIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(map[string]auth.Verdict{"a": auth.Allow})
		a := chainOf(t, Link{Name: "x", Authorizer: s, Has: features()})
		alice := client("alice")
		s.news <- auth.Event{Epoch: 7}
		synctest.Wait()
		a.read(alice, "a")
		s.set(func() { s.verdicts["a"] = auth.Deny })
		s.news <- auth.Event{Epoch: 8}
		synctest.Wait()
		if a.read(alice, "a") != No {
			t.Error("an allowance outlived its policy")
		}
		// A new instance counts from the beginning.
		s.set(func() { s.verdicts["a"] = auth.Allow })
		s.news <- auth.Event{Epoch: 9}
		synctest.Wait()
		a.read(alice, "a")
		s.set(func() { s.verdicts["a"] = auth.Deny })
		close(s.news)
		synctest.Wait()
		s.set(func() { s.news = make(chan auth.Event) })
		time.Sleep(watchPauseMin)
		s.news <- auth.Event{Epoch: 9}
		synctest.Wait()
		if a.read(alice, "a") != No {
			t.Error("an allowance of one instance is used with the policy of another")
		}
	})
}

// beingAsked is an authorizer that has been asked about a and b, alone and among several,
// and allows both once it is released.
func beingAsked(t *testing.T) (*slowStub, *Authorizer, *wire.ConnInfo, *sync.WaitGroup) {
	t.Helper()
	s := &slowStub{policyStub: newStub(map[string]auth.Verdict{"a": auth.Allow, "b": auth.Allow}), release: make(chan struct{})}
	a := chainOf(t, Link{Name: "x", Authorizer: s, Has: features()})
	alice := client("alice")
	s.news <- auth.Event{Epoch: 1}
	synctest.Wait()
	var asking sync.WaitGroup
	asking.Go(func() { a.read(alice, "a") })
	asking.Go(func() { a.AllowedAll(alice, 1, auth.OpRead, auth.Topic, []string{"b"}) })
	return s, a, alice, &asking
}

// An answer that was on its way for long is not remembered for longer: the plugin may
// have decided when it was asked.
func TestSlowAnswersAreRememberedNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, alice, asking := beingAsked(t)
		const slow = time.Second
		time.Sleep(slow)
		close(s.release)
		asking.Wait()
		s.set(func() { clear(s.verdicts) })
		for _, name := range []string{"a", "b"} {
			if a.read(alice, name) != Yes {
				t.Errorf("%s is not remembered", name)
			}
		}
		time.Sleep(auth.MaxAllowTTL - slow)
		for _, name := range []string{"a", "b"} {
			if a.read(alice, name) != No {
				t.Errorf("%s is remembered for longer than since it was asked for", name)
			}
		}
	})
}

// An answer that was on its way when the policy changed is not remembered.
func TestAnswersThatNewsOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, alice, asking := beingAsked(t)
		synctest.Wait()
		s.news <- auth.Event{Epoch: 2}
		synctest.Wait()
		close(s.release)
		asking.Wait()
		s.set(func() { clear(s.verdicts) })
		for _, name := range []string{"a", "b"} {
			if a.read(alice, name) != No {
				t.Errorf("an allowance of the policy before is remembered for %s", name)
			}
		}
	})
}

func TestWithoutNewsNothingNewIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(map[string]auth.Verdict{"a": auth.Allow, "b": auth.Allow})
		a := chainOf(t, Link{Name: "x", Authorizer: s, Has: features()})
		alice := client("alice")
		s.news <- auth.Event{Epoch: 1}
		synctest.Wait()
		close(s.news)
		synctest.Wait()
		a.read(alice, "a")
		a.read(alice, "a")
		if s.asked != 1 {
			t.Fatalf("%d questions within the grace, want 1", s.asked)
		}
		time.Sleep(watchGrace + time.Second)
		a.read(alice, "a") // remembered within the grace
		a.read(alice, "b")
		a.read(alice, "b")
		if s.asked != 3 {
			t.Errorf("%d questions, want 3: without news a decision is not remembered", s.asked)
		}
	})
}

func TestDecisionsAreBounded(t *testing.T) {
	d := newDecisions()
	for n := range decisionShards*decisionsInShard + 10_000 {
		d.put(&decisionKey{name: fmt.Sprint(n)}, auth.Allow, 1, time.Unix(int64(n), 0))
	}
	if d.len() > decisionShards*decisionsInShard {
		t.Errorf("%d decisions are remembered", d.len())
	}
}

// The path of every request.
func TestRememberedDecisionsAllocateNothing(t *testing.T) {
	s := newStub(map[string]auth.Verdict{"a": auth.Allow})
	pushing := newStub(nil)
	a := NewAuthorizer(AuthorizerOptions{Chain: []Link{{Name: "x", Authorizer: s, Has: features()}}, SuperUser: func(string) bool { return false }, Clock: clock.System{}})
	defer a.Close()
	p := NewAuthorizer(AuthorizerOptions{Chain: []Link{{Name: "y", Authorizer: pushing, Has: features(auth.FeaturePush)}}, SuperUser: func(string) bool { return false }, Clock: clock.System{}})
	defer p.Close()
	s.news <- auth.Event{Epoch: 1}
	s.news <- auth.Event{Epoch: 1} // the first was heard
	pushing.news <- auth.Event{Epoch: 1, Rules: []auth.Rule{{Resource: auth.Topic, Name: "a", Pattern: auth.Literal, Principal: "User:alice", Host: "*", Operation: auth.OpRead, Permission: auth.PermissionAllow}}}
	pushing.news <- auth.Event{Epoch: 1}
	alice := client("alice")
	a.read(alice, "a")
	for says, of := range map[string]*Authorizer{"remembered": a, "pushed": p} {
		if n := testing.AllocsPerRun(1000, func() {
			if of.read(alice, "a") != Yes {
				t.Fatal("denied")
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations, want none", says, n)
		}
	}
}
