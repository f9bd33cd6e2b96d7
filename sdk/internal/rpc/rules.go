package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/grpc"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// rulesInMessage bounds the rules of one message of a stream: with the longest names
// they stay below MaxMessageBytes.
const rulesInMessage = 1024

// Watch implements auth.Authorizer.
func (a *authorizerClient) Watch(ctx context.Context, send func(auth.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := a.services.Watch(ctx, &pluginpb.WatchRequest{Meta: a.c.meta(a.id)})
	if err != nil {
		return ErrorOf(ctx, err)
	}
	var last uint64
	for {
		event, err := receiveEvent(stream)
		if err != nil {
			return watchEnd(ctx, err)
		}
		if event.Epoch < last {
			return badAnswer("policy epoch %d after %d", event.Epoch, last)
		}
		last = event.Epoch
		if err := send(event); err != nil {
			return err
		}
	}
}

// watchEnd is why a watch ended. A plugin that just stops telling is a failure.
func watchEnd(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, plugin.ErrBadAnswer):
		return err
	case errors.Is(err, io.EOF):
		return badAnswer("watch ended")
	}
	return ErrorOf(ctx, err)
}

// receiveEvent puts the messages of one event together.
func receiveEvent(stream grpc.ServerStreamingClient[pluginpb.WatchResponse]) (auth.Event, error) {
	first, err := stream.Recv()
	if err != nil {
		return auth.Event{}, err
	}
	if !first.GetHasRules() {
		if len(first.GetRules()) > 0 || first.GetMore() {
			return auth.Event{}, badAnswer("rules in news without rules")
		}
		return auth.Event{Epoch: first.GetEpoch()}, nil
	}
	var list ruleList
	for m := first; ; {
		if err := list.add(m.GetRules()); err != nil {
			return auth.Event{}, err
		}
		if !m.GetMore() {
			return auth.Event{Epoch: first.GetEpoch(), Rules: list.rules()}, nil
		}
		if m, err = stream.Recv(); err != nil {
			return auth.Event{}, err
		}
		if m.GetEpoch() != first.GetEpoch() || !m.GetHasRules() || len(m.GetRules()) == 0 {
			return auth.Event{}, badAnswer("a part of other news inside news of epoch %d", first.GetEpoch())
		}
	}
}

// ruleList puts rules together that come in parts.
type ruleList struct {
	all   []auth.Rule
	bytes int
}

// rules are all of them: not nil, even if there are none.
func (l *ruleList) rules() []auth.Rule {
	if l.all == nil {
		return []auth.Rule{}
	}
	return l.all
}

// add checks and adds the rules of one message.
func (l *ruleList) add(part []*pluginpb.Rule) error {
	if len(part) > rulesInMessage || len(l.all)+len(part) > auth.MaxRules {
		return badAnswer("%d rules after %d", len(part), len(l.all))
	}
	l.all = slices.Grow(l.all, len(part))
	for _, m := range part {
		r, err := ruleOf(m)
		if err != nil {
			return err
		}
		l.bytes += len(r.Name) + len(r.Principal) + len(r.Host)
		if l.bytes > auth.MaxRulesBytes {
			return badAnswer("more than %d bytes of rules", auth.MaxRulesBytes)
		}
		l.all = append(l.all, r)
	}
	return nil
}

// ruleOf checks a rule's sizes and that its numbers are numbers of Kafka's; what they
// mean together is auth's business.
func ruleOf(m *pluginpb.Rule) (auth.Rule, error) {
	r := auth.Rule{
		Resource: auth.ResourceType(small(m.GetResource())), Name: m.GetName(), Pattern: auth.PatternType(small(m.GetPattern())),
		Principal: m.GetPrincipal(), Host: m.GetHost(),
		Operation: auth.Operation(small(m.GetOperation())), Permission: auth.Permission(small(m.GetPermission())),
	}
	if err := r.Check(); err != nil {
		return auth.Rule{}, badAnswer("%s", plainText(err.Error(), plugin.MaxErrorTextBytes))
	}
	if !within(r.Name, auth.MaxNameBytes) || !within(r.Principal, auth.MaxNameBytes) || !within(r.Host, auth.MaxGroupBytes) {
		return auth.Rule{}, badAnswer("a rule's name, principal or host is too long or no text")
	}
	return r, nil
}

func ruleMessage(r auth.Rule) *pluginpb.Rule {
	return &pluginpb.Rule{
		Resource: int32(r.Resource), Name: sendable(r.Name), Pattern: int32(r.Pattern), Principal: sendable(r.Principal),
		Host: sendable(r.Host), Operation: int32(r.Operation), Permission: int32(r.Permission),
	}
}

// eachPart calls send with the rules in parts of at most rulesInMessage; with none,
// once.
func eachPart(rules []auth.Rule, send func(part []*pluginpb.Rule, more bool) error) error {
	for {
		n := min(len(rules), rulesInMessage)
		part := make([]*pluginpb.Rule, n)
		for i, r := range rules[:n] {
			part[i] = ruleMessage(r)
		}
		rules = rules[n:]
		if err := send(part, len(rules) > 0); err != nil || len(rules) == 0 {
			return err
		}
	}
}

// SetRules implements auth.RuleTaker.
func (a ruleTakerClient) SetRules(ctx context.Context, epoch uint64, rules []auth.Rule) error {
	if len(rules) > auth.MaxRules {
		return tooLarge("%d rules: at most %d", len(rules), auth.MaxRules)
	}
	ctx, cancel := bounded(ctx, configureTimeout)
	defer cancel()
	ctx, end := context.WithCancel(ctx)
	defer end()
	stream, err := a.services.SetRules(ctx)
	if err != nil {
		return ErrorOf(ctx, err)
	}
	meta := a.c.meta(a.id)
	err = eachPart(rules, func(part []*pluginpb.Rule, _ bool) error {
		m := &pluginpb.SetRulesRequest{Meta: meta, Epoch: epoch, Rules: part}
		meta = nil
		return stream.Send(m)
	})
	if err != nil && !errors.Is(err, io.EOF) { // after EOF the answer says why
		return ErrorOf(ctx, err)
	}
	_, err = stream.CloseAndRecv()
	return ErrorOf(ctx, err)
}

// Watch implements pluginpb.AuthorizerServer. It ends when the instance is drained.
func (a *authorizerServer) Watch(q *pluginpb.WatchRequest, stream grpc.ServerStreamingServer[pluginpb.WatchResponse]) error {
	in, err := a.s.take(q.GetMeta())
	if err != nil {
		return statusOf(err)
	}
	defer a.s.release(in)
	contract, ok := in.made.(auth.Authorizer)
	if !ok {
		return statusOf(fmt.Errorf("a %s can't do this: %w", in.plugin.Kind, plugin.ErrUnsupported))
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(in.ending, cancel)()
	err = contract.Watch(ctx, func(e auth.Event) error { return sendEvent(stream, e) })
	if in.ending.Err() != nil {
		err = plugin.ErrDrained
	}
	return statusOf(err)
}

// sendEvent sends one event in as many messages as it needs.
func sendEvent(stream grpc.ServerStreamingServer[pluginpb.WatchResponse], e auth.Event) error {
	return eachPart(e.Rules, func(part []*pluginpb.Rule, more bool) error {
		return stream.Send(&pluginpb.WatchResponse{Epoch: e.Epoch, HasRules: e.Rules != nil, Rules: part, More: more})
	})
}

// SetRules implements pluginpb.AuthorizerServer.
func (a *authorizerServer) SetRules(stream grpc.ClientStreamingServer[pluginpb.SetRulesRequest, pluginpb.SetRulesResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	err = with(a.s, first.GetMeta(), func(contract auth.RuleTaker) error {
		rules, err := receiveRules(first, stream)
		if err != nil {
			return err
		}
		return contract.SetRules(stream.Context(), first.GetEpoch(), rules)
	})
	if err != nil {
		return err
	}
	return stream.SendAndClose(&pluginpb.SetRulesResponse{})
}

// receiveRules puts the messages of a stream together.
func receiveRules(m *pluginpb.SetRulesRequest, stream grpc.ClientStreamingServer[pluginpb.SetRulesRequest, pluginpb.SetRulesResponse]) ([]auth.Rule, error) {
	var list ruleList
	for {
		err := list.add(m.GetRules())
		if err != nil {
			return nil, err
		}
		m, err = stream.Recv()
		if errors.Is(err, io.EOF) {
			return list.rules(), nil
		}
		if err != nil {
			return nil, err
		}
	}
}
