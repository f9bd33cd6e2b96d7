package broker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/sdk/auth"
)

// passwords knows users by name; down: it gives no answer.
type passwords struct {
	auth.NoCredentials
	users map[string]string
	asked chan struct{} // while down; nil: nobody wants to know
	mu    sync.Mutex
	down  bool
}

func (p *passwords) VerifyPassword(_ context.Context, peer *auth.Peer, user string, password []byte) (auth.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.down:
		select {
		case p.asked <- struct{}{}:
		default:
		}
		return auth.Result{}, errors.New("down")
	case p.users[user] == "" || p.users[user] != string(password):
		return auth.Result{Nonce: peer.Nonce}, nil
	}
	return auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: user, Nonce: peer.Nonce}, nil
}

// rulebook decides by the cluster's rules, when it is not silent.
type rulebook struct {
	mu      sync.Mutex
	matcher *auth.Matcher
	silent  bool
	epoch   uint64
	news    chan struct{}
}

func (b *rulebook) Authorize(_ context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.silent || b.matcher == nil {
		return errors.New("silent")
	}
	for i, a := range actions {
		out[i] = auth.Decision{Verdict: b.matcher.Decide(c, a.Operation, a.Resource, a.Name), CacheTTL: time.Minute}
	}
	return nil
}

func (b *rulebook) AuthorizeByResourceType(_ context.Context, c *auth.Client, op auth.Operation, t auth.ResourceType) (auth.Decision, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.silent || b.matcher == nil {
		return auth.Decision{}, errors.New("silent")
	}
	return auth.Decision{Verdict: b.matcher.DecideByResourceType(c, op, t)}, nil
}

func (b *rulebook) Watch(ctx context.Context, send func(auth.Event) error) error {
	for {
		b.mu.Lock()
		epoch := b.epoch
		b.mu.Unlock()
		if err := send(auth.Event{Epoch: epoch}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.news:
		}
	}
}

func (b *rulebook) SetRules(_ context.Context, epoch uint64, rules []auth.Rule) error {
	b.mu.Lock()
	b.matcher, b.epoch = auth.NewMatcher(rules), epoch
	b.mu.Unlock()
	b.news <- struct{}{}
	return nil
}

// guarded is a broker whose clients are admin and alice, with rules.
func guarded(t *testing.T) (*brokertest.Broker, *passwords, *rulebook) {
	users := &passwords{users: map[string]string{"admin": "a", "alice": "secret"}, asked: make(chan struct{})}
	rules := &rulebook{news: make(chan struct{}, 16)}
	b := brokertest.Start(t, brokertest.Options{
		SASL: &broker.SASL{Mechanisms: []string{"PLAIN"}, Authenticator: users, SuperUsers: true},
		Security: broker.Security{SuperUsers: []string{"User:admin"},
			Authorizers: []broker.Authorizer{{Name: "rules", Authorizer: rules, Bounded: true, Has: func(f string) bool { return f == auth.FeatureStore }}}},
	})
	return b, users, rules
}

// as are the options of a client that logs in.
func as(user, password string) []kgo.Opt {
	return []kgo.Opt{kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()), kgo.RetryTimeout(patience),
		kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }), kgo.RecordRetries(3)}
}

func TestClientsAreWhoTheyAreAndDoWhatTheyMay(t *testing.T) {
	b, _, _ := guarded(t)
	admin := kadm.NewClient(b.Client(as("admin", "a")...))
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	alice := b.Client(append(as("alice", "secret"), kgo.DisableIdempotentWrite())...)
	write := func() error {
		return alice.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("x")}).FirstErr()
	}
	if err := write(); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Fatalf("without a rule: %v, want TOPIC_AUTHORIZATION_FAILED", err)
	}
	if _, err := admin.CreateACLs(t.Context(), kadm.NewACLs().Allow("User:alice").AllowHosts().Topics("orders").Operations(kadm.OpWrite).ResourcePatternType(kadm.ACLPatternLiteral)); err != nil {
		t.Fatal(err)
	}
	for write() != nil && t.Context().Err() == nil {
		// The client remembers that it may not for a short while.
	}
	described, err := admin.DescribeACLs(t.Context(), kadm.NewACLs().AnyResource().Allow().AllowHosts().Operations().ResourcePatternType(kadm.ACLPatternAny))
	if err != nil || len(described) == 0 || len(described[0].Described) != 1 || described[0].Described[0].Principal != "User:alice" {
		t.Errorf("the rules are %+v, %v", described, err)
	}
	if err := b.Client(as("alice", "guess")...).Ping(t.Context()); !errors.Is(err, kerr.SaslAuthenticationFailed) {
		t.Errorf("a wrong password: %v", err)
	}
	anonymous := b.Client(kgo.RetryTimeout(time.Second), kgo.RequestRetries(1), kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }))
	if _, err := kadm.NewClient(anonymous).ListTopics(t.Context()); err == nil {
		t.Error("a client that proved nothing was answered")
	}
}

// While a plugin gives no answer, clients get retriable trouble, nobody gets in, and
// when it is back they go on by themselves.
func TestClientsRecoverWhenPluginsDo(t *testing.T) {
	b, users, rules := guarded(t)
	admin := kadm.NewClient(b.Client(as("admin", "a")...))
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateACLs(t.Context(), kadm.NewACLs().Allow("User:alice").AllowHosts().Topics("orders").Operations(kadm.OpWrite).ResourcePatternType(kadm.ACLPatternLiteral)); err != nil {
		t.Fatal(err)
	}
	set := func(down bool) {
		users.mu.Lock()
		users.down = down
		users.mu.Unlock()
		rules.mu.Lock()
		rules.silent = down
		rules.mu.Unlock()
	}
	set(true)
	alice := b.Client(append(as("alice", "secret"), kgo.DisableIdempotentWrite(), kgo.RecordRetries(1000), kgo.RetryTimeout(time.Minute))...)
	done := make(chan error, 1)
	alice.Produce(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("x")}, func(_ *kgo.Record, err error) { done <- err })
	for range 3 {
		<-users.asked
	}
	select {
	case err := <-done:
		t.Fatalf("produced without a plugin: %v", err)
	default:
	}
	set(false)
	if err := <-done; err != nil {
		t.Fatalf("after the plugins came back: %v", err)
	}
}
