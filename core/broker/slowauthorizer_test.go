package broker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/sdk/auth"
)

// ponderer allows everything, but has to think about topics until it is told to go on.
type ponderer struct {
	asked chan struct{}
	goOn  chan struct{}
	late  atomic.Bool // nobody waited for its answer
}

func (p *ponderer) Authorize(ctx context.Context, _ *auth.Client, actions []auth.Action, out []auth.Decision) error {
	for i := range actions {
		if actions[i].Resource == auth.Topic {
			p.asked <- struct{}{}
			select {
			case <-p.goOn:
			case <-ctx.Done():
				p.late.Store(true)
				return ctx.Err()
			}
			break
		}
	}
	for i := range out {
		out[i] = auth.Decision{Verdict: auth.Allow}
	}
	return nil
}

func (p *ponderer) AuthorizeByResourceType(context.Context, *auth.Client, auth.Operation, auth.ResourceType) (auth.Decision, error) {
	return auth.Decision{Verdict: auth.Allow}, nil
}

func (p *ponderer) Watch(ctx context.Context, send func(auth.Event) error) error {
	if err := send(auth.Event{Epoch: 1}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestGroupsDoNotWaitForAuthorizers: while an authorizer thinks about whether somebody
// may see the offsets of a group, others are served, in the same group.
func TestGroupsDoNotWaitForAuthorizers(t *testing.T) {
	synctest.Test(t, groupsDoNotWait) // whose clock stands while anybody works: an authorizer has a second to answer
}

func groupsDoNotWait(t *testing.T) {
	rules := &ponderer{asked: make(chan struct{}), goOn: make(chan struct{})}
	b := brokertest.Start(t, brokertest.Options{
		SASL: &broker.SASL{Mechanisms: []string{"PLAIN"}, Authenticator: &passwords{users: map[string]string{"admin": "a", "alice": "secret"}}, SuperUsers: true},
		Security: broker.Security{SuperUsers: []string{"User:admin"},
			Authorizers: []broker.Authorizer{{Name: "ponderer", Authorizer: rules, Has: func(string) bool { return false }}}},
	})
	admin, alice := kadm.NewClient(b.Client(as("admin", "a")...)), kadm.NewClient(b.Client(as("alice", "secret")...))
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	commit := func() error {
		var all kadm.Offsets
		all.Add(kadm.Offset{Topic: "orders", At: 7, LeaderEpoch: -1})
		return admin.CommitAllOffsets(t.Context(), "g", all)
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		got kadm.OffsetResponses
		err error
	}
	seen := make(chan outcome, 1)
	go func() {
		got, err := alice.FetchOffsets(t.Context(), "g")
		seen <- outcome{got, err}
	}()
	<-rules.asked
	if err := commit(); err != nil {
		t.Errorf("a commit while the authorizer thinks: %v", err)
	}
	if rules.late.Load() {
		t.Error("the commit waited until the authorizer was given up")
	}
	close(rules.goOn)
	for {
		select {
		case <-rules.asked:
		case o := <-seen:
			if at, ok := o.got.Lookup("orders", 0); o.err != nil || !ok || at.At != 7 {
				t.Errorf("the offsets are %v, %v", o.got, o.err)
			}
			return
		}
	}
}
