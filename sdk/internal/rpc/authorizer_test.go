package rpc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// judge is an authorizer that a test sees into.
type judge struct {
	authorize func(c *auth.Client, actions []auth.Action, out []auth.Decision) error
	byType    func(c *auth.Client, op auth.Operation, t auth.ResourceType) (auth.Decision, error)
	watch     func(ctx context.Context, send func(auth.Event) error) error
	setRules  func(epoch uint64, rules []auth.Rule) error
}

func (j *judge) Authorize(_ context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	return j.authorize(c, actions, out)
}

func (j *judge) AuthorizeByResourceType(_ context.Context, c *auth.Client, op auth.Operation, t auth.ResourceType) (auth.Decision, error) {
	return j.byType(c, op, t)
}

func (j *judge) Watch(ctx context.Context, send func(auth.Event) error) error {
	return j.watch(ctx, send)
}

func (j *judge) SetRules(_ context.Context, epoch uint64, rules []auth.Rule) error {
	return j.setRules(epoch, rules)
}

func judges(j *judge, features ...string) plugin.Plugin {
	return auth.AuthorizerPlugin(plugin.Plugin{Name: "j", Version: "1.0.0", Features: features},
		func(context.Context, plugin.Config) (auth.Authorizer, error) { return j, nil })
}

func TestAuthorizer(t *testing.T) {
	client := auth.Client{
		PrincipalType: "User", PrincipalName: "alice", Groups: []string{"a", "b"}, Host: "10.0.0.1",
		Listener: "SASL", RequestKey: 3, ClientID: "me",
	}
	actions := []auth.Action{
		{Operation: auth.OpRead, Resource: auth.Topic, Name: "orders", LogIfAllowed: true},
		{Operation: auth.OpTwoPhaseCommit, Resource: auth.User, Name: "ü", LogIfDenied: true},
		{Operation: auth.OpWrite, Resource: auth.Topic, Name: "bad \xff name"},
	}
	j := &judge{}
	j.authorize = func(c *auth.Client, got []auth.Action, out []auth.Decision) error {
		if !reflect.DeepEqual(*c, client) || !reflect.DeepEqual(got[:2], actions[:2]) {
			return fmt.Errorf("asked %+v %+v", *c, got)
		}
		out[0] = auth.Decision{Verdict: auth.Allow, CacheTTL: time.Hour}
		out[1] = auth.Decision{Verdict: auth.Abstain, CacheTTL: time.Hour}
		out[2] = auth.Decision{Verdict: auth.Allow, CacheTTL: time.Hour}
		return nil
	}
	j.byType = func(c *auth.Client, op auth.Operation, of auth.ResourceType) (auth.Decision, error) {
		if op != auth.OpWrite || of != auth.Topic {
			return auth.Decision{}, fmt.Errorf("asked %d %d", op, of)
		}
		return auth.Decision{Verdict: auth.Allow, CacheTTL: 1500 * time.Microsecond}, nil
	}
	p := judges(j, auth.FeatureUsesHost)
	c, _, _ := serve(t, p)
	a := configure[auth.Authorizer](t, c, p, "1")
	out := make([]auth.Decision, 3)
	if err := a.Authorize(t.Context(), &client, actions, out); err != nil {
		t.Fatal(err)
	}
	want := []auth.Decision{{Verdict: auth.Allow, CacheTTL: auth.MaxAllowTTL}, {Verdict: auth.Abstain, CacheTTL: auth.MaxDenyTTL}, {}}
	if !reflect.DeepEqual(out, want) {
		t.Errorf("decisions %+v, want %+v: clamped, and a name that is no text denied", out, want)
	}
	d, err := a.AuthorizeByResourceType(t.Context(), &client, auth.OpWrite, auth.Topic)
	if err != nil || d != (auth.Decision{Verdict: auth.Allow, CacheTTL: time.Millisecond}) {
		t.Errorf("by type %+v, %v", d, err)
	}
	if _, ok := a.(auth.RuleTaker); ok {
		t.Error("it takes rules without the feature")
	}
	if err := a.Authorize(t.Context(), &client, make([]auth.Action, auth.MaxActions+1), nil); !errors.Is(err, plugin.ErrTooLarge) {
		t.Errorf("too many actions: %v, want ErrTooLarge", err)
	}
}

// TestAuthorizerIsNotToldHosts without the feature: its decisions are remembered
// without them.
func TestAuthorizerIsNotToldHosts(t *testing.T) {
	var host string
	j := &judge{authorize: func(c *auth.Client, _ []auth.Action, _ []auth.Decision) error {
		host = c.Host
		return nil
	}}
	p := judges(j)
	c, _, _ := serve(t, p)
	err := configure[auth.Authorizer](t, c, p, "1").Authorize(t.Context(), &auth.Client{Host: "10.0.0.1"}, make([]auth.Action, 1), make([]auth.Decision, 1))
	if err != nil || host != "" {
		t.Errorf("told %q, %v", host, err)
	}
}

func TestBadDecisions(t *testing.T) {
	actions := make([]auth.Action, 2)
	allow := pluginpb.Verdict_VERDICT_ALLOW
	for name, a := range map[string]*pluginpb.AuthorizeResponse{
		"nothing":       {},
		"too few":       {Verdicts: []pluginpb.Verdict{allow}},
		"too many":      {Verdicts: []pluginpb.Verdict{allow, allow, allow}},
		"unknown":       {Verdicts: []pluginpb.Verdict{allow, 9}},
		"too few times": {Verdicts: []pluginpb.Verdict{allow, allow}, CacheTtlMs: []uint32{1}},
	} {
		out := make([]auth.Decision, 2)
		if err := decisions(actions, a, out); !errors.Is(err, plugin.ErrBadAnswer) || out[0].Verdict != auth.Deny {
			t.Errorf("%s: %+v, %v; want ErrBadAnswer and nothing allowed", name, out, err)
		}
	}
}

// manyRules are more than one message holds.
func manyRules(n int) []auth.Rule {
	rules := make([]auth.Rule, n)
	for i := range rules {
		rules[i] = auth.Rule{
			Resource: auth.Topic, Name: fmt.Sprint("t", i), Pattern: auth.Prefixed, Principal: "User:a", Host: "*",
			Operation: auth.OpRead, Permission: auth.PermissionAllow,
		}
	}
	return rules
}

var errEnough = errors.New("enough")

func TestWatchAndSetRules(t *testing.T) {
	events := []auth.Event{{Epoch: 1}, {Epoch: 2, Rules: []auth.Rule{}}, {Epoch: 2, Rules: manyRules(3*rulesInMessage + 1)}, {Epoch: 3}}
	watching, watchEnded := make(chan struct{}), make(chan struct{})
	j := &judge{watch: func(ctx context.Context, send func(auth.Event) error) error {
		for _, e := range events {
			if err := send(e); err != nil {
				return err
			}
		}
		close(watching)
		<-ctx.Done()
		close(watchEnded)
		return ctx.Err()
	}}
	var epoch uint64
	var taken []auth.Rule
	j.setRules = func(e uint64, rules []auth.Rule) error {
		epoch, taken = e, rules
		return nil
	}
	p := judges(j, auth.FeatureStore)
	c, _, _ := serve(t, p)
	a := configure[auth.Authorizer](t, c, p, "1")
	taker := a.(auth.RuleTaker)
	for _, n := range []int{0, 1, rulesInMessage, rulesInMessage + 1} {
		if err := taker.SetRules(t.Context(), uint64(n), manyRules(n)); err != nil || epoch != uint64(n) || !reflect.DeepEqual(taken, manyRules(n)) {
			t.Errorf("%d rules: %v, got %d of epoch %d", n, err, len(taken), epoch)
		}
	}
	if err := taker.SetRules(t.Context(), 1, make([]auth.Rule, auth.MaxRules+1)); !errors.Is(err, plugin.ErrTooLarge) {
		t.Errorf("too many rules: %v, want ErrTooLarge", err)
	}
	if err := taker.SetRules(t.Context(), 1, []auth.Rule{{Name: "x"}}); !errors.Is(err, plugin.ErrBadAnswer) {
		t.Errorf("a rule that is none: %v", err)
	}

	var got []auth.Event
	watched := make(chan error)
	go func() {
		watched <- a.Watch(t.Context(), func(e auth.Event) error {
			got = append(got, e)
			return nil
		})
	}()
	<-watching
	if err := c.Drain(t.Context(), "1"); err != nil { // ends the watch
		t.Error(err)
	}
	<-watchEnded
	if err := <-watched; !errors.Is(err, plugin.ErrDrained) {
		t.Errorf("watch ended with %v, want ErrDrained", err)
	}
	if !reflect.DeepEqual(got, events) {
		t.Errorf("events differ: got %d, want %d", len(got), len(events))
	}
}

// TestWatchStops ends when who watches has enough.
func TestWatchStops(t *testing.T) {
	ended := make(chan struct{})
	j := &judge{watch: func(ctx context.Context, send func(auth.Event) error) error {
		defer close(ended)
		for {
			if err := send(auth.Event{Epoch: 1}); err != nil {
				return err
			}
		}
	}}
	p := judges(j)
	c, _, _ := serve(t, p)
	err := configure[auth.Authorizer](t, c, p, "1").Watch(t.Context(), func(auth.Event) error { return errEnough })
	if !errors.Is(err, errEnough) {
		t.Errorf("watch: %v", err)
	}
	<-ended
}

// watchLiar sends messages as a test says.
type watchLiar struct {
	pluginpb.UnimplementedAuthorizerServer
	send []*pluginpb.WatchResponse
}

func (w watchLiar) Watch(_ *pluginpb.WatchRequest, stream grpc.ServerStreamingServer[pluginpb.WatchResponse]) error {
	for _, m := range w.send {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func TestBadWatch(t *testing.T) {
	rule := ruleMessage(manyRules(1)[0])
	long := ruleMessage(manyRules(1)[0])
	long.Name = strings.Repeat("n", auth.MaxNameBytes+1)
	var flood, heavy []*pluginpb.WatchResponse
	part := make([]*pluginpb.Rule, rulesInMessage)
	for i := range part {
		part[i] = rule
	}
	wide := ruleMessage(manyRules(1)[0])
	wide.Name, wide.Principal = strings.Repeat("n", auth.MaxNameBytes), "User:"+strings.Repeat("p", auth.MaxNameBytes-5)
	widePart := make([]*pluginpb.Rule, rulesInMessage)
	for i := range widePart {
		widePart[i] = wide
	}
	for range auth.MaxRules/rulesInMessage + 1 {
		flood = append(flood, &pluginpb.WatchResponse{Epoch: 1, HasRules: true, Rules: part, More: true})
		heavy = append(heavy, &pluginpb.WatchResponse{Epoch: 1, HasRules: true, Rules: widePart, More: true})
	}
	for name, messages := range map[string][]*pluginpb.WatchResponse{
		"ends":               {{Epoch: 1}},
		"epoch goes back":    {{Epoch: 2}, {Epoch: 1}},
		"rules without":      {{Epoch: 1, Rules: []*pluginpb.Rule{rule}}},
		"more without":       {{Epoch: 1, More: true}},
		"epoch inside":       {{Epoch: 1, HasRules: true, Rules: part, More: true}, {Epoch: 2, HasRules: true, Rules: part}},
		"part without rules": {{Epoch: 1, HasRules: true, Rules: part, More: true}, {Epoch: 1, HasRules: true, More: true}},
		"too many at once":   {{Epoch: 1, HasRules: true, Rules: append(part, rule)}},
		"too many":           flood,
		"too heavy":          heavy,
		"no rule":            {{Epoch: 1, HasRules: true, Rules: []*pluginpb.Rule{{}}}},
		"long name":          {{Epoch: 1, HasRules: true, Rules: []*pluginpb.Rule{long}}},
	} {
		c := talk(t, nil, func(g *grpc.Server) { pluginpb.RegisterAuthorizerServer(g, watchLiar{send: messages}) })
		rules := 0
		err := newAuthorizer(c, "1", plugin.Description{}).Watch(t.Context(), func(e auth.Event) error {
			rules += len(e.Rules)
			return nil
		})
		if !errors.Is(err, plugin.ErrBadAnswer) || rules != 0 {
			t.Errorf("%s: %v and %d rules; want ErrBadAnswer and none", name, err, rules)
		}
	}
}

// FuzzRule reads any bytes as a rule: refused, or the same again.
func FuzzRule(f *testing.F) {
	data, err := proto.Marshal(ruleMessage(manyRules(1)[0]))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var m pluginpb.Rule
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		r, err := ruleOf(&m)
		if err != nil {
			return
		}
		if again, err := ruleOf(ruleMessage(r)); err != nil || again != r {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
	})
}

// FuzzDecisions reads any bytes as an answer about two actions: all or nothing.
func FuzzDecisions(f *testing.F) {
	data, err := proto.Marshal(&pluginpb.AuthorizeResponse{Verdicts: []pluginpb.Verdict{1, 2}, CacheTtlMs: []uint32{1, 1 << 31}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var m pluginpb.AuthorizeResponse
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		out := make([]auth.Decision, 2)
		err := decisions(make([]auth.Action, 2), &m, out)
		for i, d := range out {
			if d != (auth.Decision{}) && (err != nil || int32(d.Verdict) != int32(m.Verdicts[i]) || d.CacheTTL > auth.MaxAllowTTL) {
				t.Fatalf("%v became %+v, %v", &m, out, err)
			}
		}
	})
}
