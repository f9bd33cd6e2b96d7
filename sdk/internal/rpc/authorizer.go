package rpc

import (
	"context"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// authorizerClient is an auth.Authorizer behind a connection.
type authorizerClient struct {
	c        *Client
	id       string
	tellHost bool
	services pluginpb.AuthorizerClient
}

// ruleTakerClient is an authorizerClient whose plugin takes rules.
type ruleTakerClient struct{ *authorizerClient }

func newAuthorizer(c *Client, id string, d plugin.Description) auth.Authorizer {
	a := &authorizerClient{c: c, id: id, tellHost: d.Has(auth.FeatureUsesHost), services: pluginpb.NewAuthorizerClient(c.conn)}
	if d.Has(auth.FeatureStore) {
		return ruleTakerClient{a}
	}
	return a
}

// Authorize implements auth.Authorizer.
func (a *authorizerClient) Authorize(ctx context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	if len(actions) > auth.MaxActions {
		return tooLarge("%d actions: at most %d", len(actions), auth.MaxActions)
	}
	answer, err := ask(ctx, callTimeout, a.services.Authorize, &pluginpb.AuthorizeRequest{
		Meta: a.c.meta(a.id), Client: a.client(c), Actions: actionMessages(actions),
	}, grpc.MaxCallRecvMsgSize(maxPlacesBytes))
	if err != nil {
		return err
	}
	return decisions(actions, answer, out)
}

// AuthorizeByResourceType implements auth.Authorizer.
func (a *authorizerClient) AuthorizeByResourceType(ctx context.Context, c *auth.Client, op auth.Operation, t auth.ResourceType) (auth.Decision, error) {
	answer, err := ask(ctx, callTimeout, a.services.AuthorizeByResourceType, &pluginpb.AuthorizeByResourceTypeRequest{
		Meta: a.c.meta(a.id), Client: a.client(c), Operation: int32(op), Resource: int32(t),
	}, grpc.MaxCallRecvMsgSize(maxPlacesBytes))
	if err != nil {
		return auth.Decision{}, err
	}
	return decision(answer.Verdict, answer.CacheTtlMs)
}

// client is who asks, without what the plugin has no feature for.
func (a *authorizerClient) client(c *auth.Client) *pluginpb.Client {
	m := &pluginpb.Client{
		PrincipalType: sendable(c.PrincipalType), PrincipalName: sendable(c.PrincipalName),
		Listener: sendable(c.Listener), RequestKey: int32(c.RequestKey), ClientId: sendable(c.ClientID),
	}
	for _, group := range c.Groups {
		m.Groups = append(m.Groups, sendable(group))
	}
	if a.tellHost {
		m.Host = sendable(c.Host)
	}
	return m
}

func actionMessages(actions []auth.Action) []*pluginpb.Action {
	messages := make([]pluginpb.Action, len(actions))
	all := make([]*pluginpb.Action, len(actions))
	for i, action := range actions {
		m := &messages[i]
		m.Operation, m.Resource, m.Name = int32(action.Operation), int32(action.Resource), sendable(action.Name)
		m.LogIfAllowed, m.LogIfDenied = action.LogIfAllowed, action.LogIfDenied
		all[i] = m
	}
	return all
}

// decisions checks an answer and puts it into out.
func decisions(actions []auth.Action, a *pluginpb.AuthorizeResponse, out []auth.Decision) error {
	n := len(actions)
	if len(a.Verdicts) != n || len(out) != n || (len(a.CacheTtlMs) != 0 && len(a.CacheTtlMs) != n) {
		return badAnswer("%d verdicts and %d times for %d actions", len(a.Verdicts), len(a.CacheTtlMs), n)
	}
	checked := make([]auth.Decision, n)
	for i, verdict := range a.Verdicts {
		var ttl uint32
		if len(a.CacheTtlMs) != 0 {
			ttl = a.CacheTtlMs[i]
		}
		var err error
		if checked[i], err = decision(verdict, ttl); err != nil {
			return err
		}
		if !utf8.ValidString(actions[i].Name) {
			checked[i] = auth.Decision{} // the plugin saw another name
		}
	}
	copy(out, checked)
	return nil
}

// decision checks one decision.
func decision(verdict pluginpb.Verdict, ttlMS uint32) (auth.Decision, error) {
	d := auth.Decision{CacheTTL: min(milliseconds(int64(ttlMS)), auth.MaxDenyTTL)}
	switch verdict {
	case pluginpb.Verdict_VERDICT_DENY:
	case pluginpb.Verdict_VERDICT_ALLOW:
		d.Verdict, d.CacheTTL = auth.Allow, min(milliseconds(int64(ttlMS)), auth.MaxAllowTTL)
	case pluginpb.Verdict_VERDICT_ABSTAIN:
		d.Verdict = auth.Abstain
	default:
		return auth.Decision{}, badAnswer("verdict %d", verdict)
	}
	return d, nil
}

// authorizerServer answers for instances of authorizers.
type authorizerServer struct {
	pluginpb.UnimplementedAuthorizerServer
	s *Server
}

// Authorize implements pluginpb.AuthorizerServer.
func (a *authorizerServer) Authorize(ctx context.Context, q *pluginpb.AuthorizeRequest) (*pluginpb.AuthorizeResponse, error) {
	answer := &pluginpb.AuthorizeResponse{}
	err := with(a.s, q.GetMeta(), func(contract auth.Authorizer) error {
		if len(q.GetActions()) > auth.MaxActions {
			return badQuestion("%d actions", len(q.GetActions()))
		}
		actions := make([]auth.Action, len(q.GetActions()))
		for i, m := range q.GetActions() {
			actions[i] = auth.Action{
				Operation: auth.Operation(small(m.GetOperation())), Resource: auth.ResourceType(small(m.GetResource())),
				Name: m.GetName(), LogIfAllowed: m.GetLogIfAllowed(), LogIfDenied: m.GetLogIfDenied(),
			}
		}
		out := make([]auth.Decision, len(actions))
		if err := contract.Authorize(ctx, clientOf(q.GetClient()), actions, out); err != nil {
			return err
		}
		fillDecisions(answer, out)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// fillDecisions puts decisions into a message; times only if there are any.
func fillDecisions(answer *pluginpb.AuthorizeResponse, out []auth.Decision) {
	answer.Verdicts = make([]pluginpb.Verdict, len(out))
	remember := false
	for i, d := range out {
		answer.Verdicts[i] = pluginpb.Verdict(d.Verdict)
		remember = remember || d.CacheTTL >= time.Millisecond
	}
	if !remember {
		return
	}
	answer.CacheTtlMs = make([]uint32, len(out))
	for i, d := range out {
		answer.CacheTtlMs[i] = wholeMilliseconds(d.CacheTTL)
	}
}

// AuthorizeByResourceType implements pluginpb.AuthorizerServer.
func (a *authorizerServer) AuthorizeByResourceType(ctx context.Context, q *pluginpb.AuthorizeByResourceTypeRequest) (*pluginpb.AuthorizeByResourceTypeResponse, error) {
	answer := &pluginpb.AuthorizeByResourceTypeResponse{}
	err := with(a.s, q.GetMeta(), func(contract auth.Authorizer) error {
		d, err := contract.AuthorizeByResourceType(ctx, clientOf(q.GetClient()),
			auth.Operation(small(q.GetOperation())), auth.ResourceType(small(q.GetResource())))
		if err != nil {
			return err
		}
		answer.Verdict, answer.CacheTtlMs = pluginpb.Verdict(d.Verdict), wholeMilliseconds(d.CacheTTL)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func clientOf(m *pluginpb.Client) *auth.Client {
	c := &auth.Client{
		PrincipalType: m.GetPrincipalType(), PrincipalName: m.GetPrincipalName(), Groups: m.GetGroups(),
		Host: m.GetHost(), Listener: m.GetListener(), RequestKey: -1, ClientID: m.GetClientId(),
	}
	if key := m.GetRequestKey(); key >= 0 && key <= math.MaxInt16 {
		c.RequestKey = int16(key)
	}
	return c
}

// small is a number of Kafka's small enumerations; 0, which is none of them, if it is
// too large.
func small(n int32) int8 {
	if n < 0 || n > math.MaxInt8 {
		return 0
	}
	return int8(n)
}

var (
	_ auth.Authorizer = (*authorizerClient)(nil)
	_ auth.RuleTaker  = ruleTakerClient{}
)
