package security

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// policyStub is an authorizer that decides by name and counts what it is asked.
type policyStub struct {
	mu       sync.Mutex
	asked    int // questions
	actions  int
	err      error
	ttl      time.Duration
	takes    time.Duration // one question
	verdicts map[string]auth.Verdict
	news     chan auth.Event // closed: the watching ends
	rules    []auth.Rule
	noStore  bool // it takes no rules
}

func newStub(verdicts map[string]auth.Verdict) *policyStub {
	return &policyStub{verdicts: verdicts, ttl: time.Hour, news: make(chan auth.Event)}
}

func (s *policyStub) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *policyStub) Authorize(ctx context.Context, _ *auth.Client, actions []auth.Action, out []auth.Decision) error {
	if s.takes > 0 {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	s.actions += len(actions)
	for i, a := range actions {
		out[i] = auth.Decision{Verdict: s.verdicts[a.Name], CacheTTL: s.ttl}
	}
	return s.err
}

func (s *policyStub) AuthorizeByResourceType(context.Context, *auth.Client, auth.Operation, auth.ResourceType) (auth.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return auth.Decision{Verdict: s.verdicts["type"]}, s.err
}

func (s *policyStub) Watch(ctx context.Context, send func(auth.Event) error) error {
	s.mu.Lock()
	news := s.news
	s.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-news:
			if !ok {
				return errors.New("the stream broke")
			}
			if err := send(e); err != nil {
				return err
			}
		}
	}
}

func (s *policyStub) SetRules(_ context.Context, _ uint64, rules []auth.Rule) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noStore {
		return plugin.ErrUnsupported
	}
	if s.err != nil {
		return s.err
	}
	s.rules = rules
	return nil
}

// features are those of a plugin.
func features(f ...string) func(string) bool {
	return func(feature string) bool { return slices.Contains(f, feature) }
}

// chainOf is an authorizer of links, which ends with the test.
func chainOf(t *testing.T, links ...Link) *Authorizer {
	a := NewAuthorizer(AuthorizerOptions{Chain: links, SuperUser: func(p string) bool { return p == "User:root" }, Clock: clock.System{}})
	t.Cleanup(a.Close)
	return a
}

func client(name string) *wire.ConnInfo {
	c := connection("SASL")
	c.SetIdentity(wire.NewIdentity("User", name))
	return c
}

func (a *Authorizer) read(c *wire.ConnInfo, topic string) Answer {
	return a.Allowed(c, 1, auth.OpRead, auth.Topic, topic)
}

func TestChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newStub(map[string]auth.Verdict{"a": auth.Allow, "b": auth.Deny, "c": auth.Abstain, "d": auth.Abstain, "e": auth.Abstain})
		second := newStub(map[string]auth.Verdict{"a": auth.Deny, "b": auth.Allow, "c": auth.Allow, "d": auth.Deny, "e": auth.Abstain})
		a := chainOf(t, Link{Name: "first", Authorizer: first, Has: features()}, Link{Name: "second", Authorizer: second, Has: features()})
		for topic, want := range map[string]Answer{"a": Yes, "b": No, "c": Yes, "d": No, "e": No, "unheard of": No} {
			if got := a.read(client("alice"), topic); got != want {
				t.Errorf("%s: %d, want %d", topic, got, want)
			}
		}
		if a.read(client("root"), "b") != Yes {
			t.Error("a super user is denied")
		}
		if a.read(connection("SASL"), "a") != No {
			t.Error("a connection without identity is allowed")
		}
		first.set(func() { first.err = errors.New("down") })
		if got := a.read(client("bob"), "a"); got != Unknown {
			t.Errorf("without an answer of the first: %d, want unknown, whatever the second says", got)
		}
	})
}

// An authorizer that ends questions by itself is waited for, others for a second.
func TestQuestionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for bounded, want := range map[bool]Answer{true: Yes, false: Unknown} {
			s := newStub(map[string]auth.Verdict{"a": auth.Allow})
			s.takes = 3 * time.Second
			a := chainOf(t, Link{Name: "slow", Authorizer: s, Has: features(), Bounded: bounded})
			if got := a.read(client("alice"), "a"); got != want {
				t.Errorf("bounded %t: %d after %v, want %d", bounded, got, s.takes, want)
			}
		}
	})
}

func TestByType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(map[string]auth.Verdict{"type": auth.Allow})
		a := chainOf(t, Link{Name: "x", Authorizer: s, Has: features()})
		ask := func() Answer { return a.AllowedByType(client("alice"), 22, auth.OpWrite, auth.Topic) }
		if ask() != Yes {
			t.Error("denied")
		}
		s.set(func() { s.verdicts["type"] = auth.Abstain })
		if ask() != No {
			t.Error("the end of the chain allows")
		}
		s.set(func() { s.err = errors.New("down") })
		if ask() != Unknown {
			t.Error("no answer is not unknown")
		}
	})
}

func TestManyNamesAreFewQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newStub(map[string]auth.Verdict{}), newStub(map[string]auth.Verdict{})
		a := chainOf(t, Link{Name: "1", Authorizer: first, Has: features()}, Link{Name: "2", Authorizer: second, Has: features()})
		var names []string
		for n := range auth.MaxActions + 10 {
			names = append(names, fmt.Sprint("t", n))
			first.verdicts[names[n]] = auth.Allow
		}
		first.verdicts["t1"], first.verdicts["t2"], second.verdicts["t1"], second.verdicts["t2"] = auth.Abstain, auth.Abstain, auth.Allow, auth.Allow
		first.news <- auth.Event{Epoch: 1}
		second.news <- auth.Event{Epoch: 1}
		synctest.Wait()
		alice := client("alice")
		for n, answer := range a.AllowedAll(alice, 3, auth.OpRead, auth.Topic, names) {
			if answer != Yes || a.read(alice, names[n]) != Yes {
				t.Fatalf("%s is denied", names[n])
			}
		}
		if first.asked != 2 || first.actions != len(names) || second.asked != 1 || second.actions != 2 {
			t.Errorf("%d questions about %d and %d about %d, want 2 about %d and 1 about 2",
				first.asked, first.actions, second.asked, second.actions, len(names))
		}
	})
}

// Answers about many names at once are those about each.
func TestManyNamesAsEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newStub(map[string]auth.Verdict{"a": auth.Allow, "b": auth.Deny, "c": auth.Abstain, "d": auth.Abstain})
		second := newStub(map[string]auth.Verdict{"c": auth.Allow})
		a := chainOf(t, Link{Name: "1", Authorizer: first, Has: features()}, Link{Name: "2", Authorizer: second, Has: features()})
		names := []string{"a", "b", "c", "d", "e", "a"}
		for _, c := range []*wire.ConnInfo{client("alice"), client("root"), connection("SASL")} {
			for n, answer := range a.AllowedAll(c, 3, auth.OpRead, auth.Topic, names) {
				if want := a.read(c, names[n]); answer != want {
					t.Errorf("%s: %d together, %d by itself", names[n], answer, want)
				}
			}
		}
		first.set(func() { first.err = errors.New("down") })
		for n, answer := range a.AllowedAll(client("bob"), 3, auth.OpRead, auth.Topic, names) {
			if answer != Unknown {
				t.Errorf("%s: %d without an answer, want unknown", names[n], answer)
			}
		}
	})
}

// Many who want to know one thing at once are one question.
func TestHerdAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStub{policyStub: newStub(map[string]auth.Verdict{"a": auth.Allow}), release: make(chan struct{})}
		a := chainOf(t, Link{Name: "x", Authorizer: s, Has: features()})
		var herd sync.WaitGroup
		for range 100 {
			herd.Go(func() {
				if a.read(client("alice"), "a") != Yes {
					t.Error("denied")
				}
			})
		}
		synctest.Wait()
		close(s.release)
		herd.Wait()
		if s.asked != 1 {
			t.Errorf("%d questions, want 1", s.asked)
		}
	})
}

type slowStub struct {
	*policyStub
	release chan struct{}
}

func (s *slowStub) Authorize(ctx context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	<-s.release
	return s.policyStub.Authorize(ctx, c, actions, out)
}
