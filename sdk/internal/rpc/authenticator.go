package rpc

import (
	"bytes"
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// authenticatorClient is an auth.Authenticator behind a connection. It asks only for
// what the plugin has features for.
type authenticatorClient struct {
	c        *Client
	id       string
	has      plugin.Description
	services pluginpb.AuthenticatorClient
}

func newAuthenticator(c *Client, id string, d plugin.Description) *authenticatorClient {
	return &authenticatorClient{c: c, id: id, has: d, services: pluginpb.NewAuthenticatorClient(c.conn)}
}

// VerifyPassword implements auth.Authenticator.
func (a *authenticatorClient) VerifyPassword(ctx context.Context, p *auth.Peer, user string, password []byte) (auth.Result, error) {
	switch {
	case !a.has.Has(auth.FeaturePassword):
		return auth.Result{}, auth.ErrUnsupported
	case !within(user, auth.MaxNameBytes) || len(password) > auth.MaxSecretBytes:
		return auth.Result{Reason: "user or password is too long or no text"}, nil
	}
	answer, err := ask(ctx, callTimeout, a.services.VerifyPassword, &pluginpb.VerifyPasswordRequest{
		Meta: a.c.meta(a.id), Peer: peerMessage(p), User: user, Password: password,
	}, grpc.MaxCallRecvMsgSize(maxResultBytes))
	if err != nil {
		return auth.Result{}, err
	}
	return result(p, answer.Result)
}

// ScramCredential implements auth.Authenticator.
func (a *authenticatorClient) ScramCredential(ctx context.Context, p *auth.Peer, user string) (auth.ScramCredential, error) {
	switch {
	case !a.has.Has(auth.FeatureScram):
		return auth.ScramCredential{}, auth.ErrUnsupported
	case !within(user, auth.MaxNameBytes):
		return auth.ScramCredential{}, nil
	}
	answer, err := ask(ctx, callTimeout, a.services.ScramCredential, &pluginpb.ScramCredentialRequest{
		Meta: a.c.meta(a.id), Peer: peerMessage(p), User: user,
	}, grpc.MaxCallRecvMsgSize(maxResultBytes))
	if err != nil {
		return auth.ScramCredential{}, err
	}
	return scramCredential(p, answer)
}

// ValidateToken implements auth.Authenticator.
func (a *authenticatorClient) ValidateToken(ctx context.Context, p *auth.Peer, token []byte) (auth.Result, error) {
	switch {
	case !a.has.Has(auth.FeatureToken):
		return auth.Result{}, auth.ErrUnsupported
	case len(token) > auth.MaxSecretBytes:
		return auth.Result{Reason: "token is too long"}, nil
	}
	answer, err := ask(ctx, callTimeout, a.services.ValidateToken, &pluginpb.ValidateTokenRequest{
		Meta: a.c.meta(a.id), Peer: peerMessage(p), Token: token,
	}, grpc.MaxCallRecvMsgSize(maxResultBytes))
	if err != nil {
		return auth.Result{}, err
	}
	return result(p, answer.Result)
}

// MapCertificate implements auth.Authenticator.
func (a *authenticatorClient) MapCertificate(ctx context.Context, p *auth.Peer, chain [][]byte) (auth.Result, error) {
	switch {
	case !a.has.Has(auth.FeatureCertificate):
		return auth.Result{}, auth.ErrUnsupported
	case !fitsChain(chain):
		return auth.Result{Reason: "chain of certificates is too long"}, nil
	}
	answer, err := ask(ctx, callTimeout, a.services.MapCertificate, &pluginpb.MapCertificateRequest{
		Meta: a.c.meta(a.id), Peer: peerMessage(p), Chain: chain,
	}, grpc.MaxCallRecvMsgSize(maxResultBytes))
	if err != nil {
		return auth.Result{}, err
	}
	return result(p, answer.Result)
}

func fitsChain(chain [][]byte) bool {
	size := 0
	for _, der := range chain {
		size += len(der)
	}
	return len(chain) <= auth.MaxChain && size <= auth.MaxChainBytes
}

func peerMessage(p *auth.Peer) *pluginpb.Peer {
	return &pluginpb.Peer{
		Listener: sendable(p.Listener), SecurityProtocol: sendable(p.SecurityProtocol),
		Mechanism: sendable(p.Mechanism), Host: sendable(p.Host), Nonce: p.Nonce,
	}
}

// result checks an answer. Everything that is not a complete acceptance is none.
func result(p *auth.Peer, m *pluginpb.AuthResult) (auth.Result, error) {
	r := auth.Result{
		PrincipalType: m.GetPrincipalType(), PrincipalName: m.GetPrincipalName(), Groups: m.GetGroups(),
		Lifetime: milliseconds(m.GetLifetimeMs()), CacheTTL: milliseconds(int64(m.GetCacheTtlMs())),
		Reason: plainText(m.GetReason(), auth.MaxReasonBytes), Nonce: m.GetNonce(),
	}
	switch m.GetOutcome() {
	case pluginpb.Outcome_OUTCOME_REJECT:
		return auth.Result{Reason: r.Reason, Nonce: r.Nonce}, nil
	case pluginpb.Outcome_OUTCOME_UNAVAILABLE:
		return auth.Result{Outcome: auth.Unavailable, Reason: r.Reason, Nonce: r.Nonce}, nil
	case pluginpb.Outcome_OUTCOME_ACCEPT:
	default:
		return auth.Result{}, badAnswer("outcome %d", m.GetOutcome())
	}
	if err := principal(p, &r, m.GetLifetimeMs()); err != nil {
		return auth.Result{}, err
	}
	r.Outcome = auth.Accept
	r.CacheTTL = min(r.CacheTTL, auth.MaxAcceptTTL)
	if r.Lifetime > 0 {
		r.CacheTTL = min(r.CacheTTL, r.Lifetime)
	}
	return r, nil
}

// principal checks what an acceptance says about the client.
func principal(p *auth.Peer, r *auth.Result, lifetimeMS int64) error {
	longGroup := slices.ContainsFunc(r.Groups, func(g string) bool { return g == "" || !within(g, auth.MaxGroupBytes) })
	switch {
	case !bytes.Equal(r.Nonce, p.Nonce):
		return badAnswer("nonce is not the question's")
	case r.PrincipalType == "" || !within(r.PrincipalType, auth.MaxTypeBytes):
		return badAnswer("type of principal of %d bytes", len(r.PrincipalType))
	case r.PrincipalName == "" || !within(r.PrincipalName, auth.MaxNameBytes):
		return badAnswer("name of principal of %d bytes", len(r.PrincipalName))
	case len(r.Groups) > auth.MaxGroups || longGroup:
		return badAnswer("%d groups, or one that is empty or too long", len(r.Groups))
	case lifetimeMS < 0:
		return badAnswer("lifetime of %d ms", lifetimeMS)
	}
	return nil
}

// scramCredential checks an answer.
func scramCredential(p *auth.Peer, m *pluginpb.ScramCredentialResponse) (auth.ScramCredential, error) {
	if !m.GetFound() {
		return auth.ScramCredential{}, nil
	}
	size := auth.ScramKeyBytes(p.Mechanism)
	switch {
	case len(m.Salt) == 0 || len(m.Salt) > auth.MaxSaltBytes:
		return auth.ScramCredential{}, badAnswer("salt of %d bytes", len(m.Salt))
	case m.Iterations < auth.MinScramIterations || m.Iterations > auth.MaxScramIterations:
		return auth.ScramCredential{}, badAnswer("%d iterations", m.Iterations)
	case len(m.StoredKey) != size || len(m.ServerKey) != size:
		return auth.ScramCredential{}, badAnswer("keys of %d and %d bytes for %s", len(m.StoredKey), len(m.ServerKey), plainText(p.Mechanism, 64))
	}
	m.Principal = orEmpty(m.Principal)
	m.Principal.Outcome = pluginpb.Outcome_OUTCOME_ACCEPT // so that it is checked as one
	who, err := result(p, m.Principal)
	if err != nil {
		return auth.ScramCredential{}, err
	}
	who.Outcome = auth.Reject
	return auth.ScramCredential{
		Found: true, Salt: m.Salt, Iterations: m.Iterations, StoredKey: m.StoredKey, ServerKey: m.ServerKey, Principal: who,
	}, nil
}

func orEmpty(m *pluginpb.AuthResult) *pluginpb.AuthResult {
	if m == nil {
		return &pluginpb.AuthResult{}
	}
	return m
}

// authenticatorServer answers for instances of authenticators.
type authenticatorServer struct {
	pluginpb.UnimplementedAuthenticatorServer
	s *Server
}

// VerifyPassword implements pluginpb.AuthenticatorServer.
func (a *authenticatorServer) VerifyPassword(ctx context.Context, q *pluginpb.VerifyPasswordRequest) (*pluginpb.VerifyPasswordResponse, error) {
	m, err := a.verify(q.GetMeta(), q.GetPeer(), func(contract auth.Authenticator, p *auth.Peer) (auth.Result, error) {
		return contract.VerifyPassword(ctx, p, q.GetUser(), q.GetPassword())
	})
	if err != nil {
		return nil, err
	}
	return &pluginpb.VerifyPasswordResponse{Result: m}, nil
}

// ScramCredential implements pluginpb.AuthenticatorServer.
func (a *authenticatorServer) ScramCredential(ctx context.Context, q *pluginpb.ScramCredentialRequest) (*pluginpb.ScramCredentialResponse, error) {
	m := &pluginpb.ScramCredentialResponse{}
	err := with(a.s, q.GetMeta(), func(contract auth.Authenticator) error {
		c, err := contract.ScramCredential(ctx, peerOf(q.GetPeer()), q.GetUser())
		if err != nil || !c.Found {
			return err
		}
		m.Found, m.Salt, m.Iterations, m.StoredKey, m.ServerKey = true, c.Salt, c.Iterations, c.StoredKey, c.ServerKey
		m.Principal, err = resultMessage(c.Principal)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// ValidateToken implements pluginpb.AuthenticatorServer.
func (a *authenticatorServer) ValidateToken(ctx context.Context, q *pluginpb.ValidateTokenRequest) (*pluginpb.ValidateTokenResponse, error) {
	m, err := a.verify(q.GetMeta(), q.GetPeer(), func(contract auth.Authenticator, p *auth.Peer) (auth.Result, error) {
		return contract.ValidateToken(ctx, p, q.GetToken())
	})
	if err != nil {
		return nil, err
	}
	return &pluginpb.ValidateTokenResponse{Result: m}, nil
}

// MapCertificate implements pluginpb.AuthenticatorServer.
func (a *authenticatorServer) MapCertificate(ctx context.Context, q *pluginpb.MapCertificateRequest) (*pluginpb.MapCertificateResponse, error) {
	m, err := a.verify(q.GetMeta(), q.GetPeer(), func(contract auth.Authenticator, p *auth.Peer) (auth.Result, error) {
		return contract.MapCertificate(ctx, p, q.GetChain())
	})
	if err != nil {
		return nil, err
	}
	return &pluginpb.MapCertificateResponse{Result: m}, nil
}

// verify runs one verification of an instance.
func (a *authenticatorServer) verify(meta *pluginpb.CallMeta, peer *pluginpb.Peer, call func(auth.Authenticator, *auth.Peer) (auth.Result, error)) (*pluginpb.AuthResult, error) {
	var m *pluginpb.AuthResult
	err := with(a.s, meta, func(contract auth.Authenticator) error {
		r, err := call(contract, peerOf(peer))
		if err != nil {
			return err
		}
		m, err = resultMessage(r)
		return err
	})
	return m, err
}

func peerOf(m *pluginpb.Peer) *auth.Peer {
	return &auth.Peer{
		Listener: m.GetListener(), SecurityProtocol: m.GetSecurityProtocol(),
		Mechanism: m.GetMechanism(), Host: m.GetHost(), Nonce: m.GetNonce(),
	}
}

// resultMessage is what a plugin's code answered as a message. Names that are no text
// would be other names if they were repaired, so they are an error.
func resultMessage(r auth.Result) (*pluginpb.AuthResult, error) {
	noText := func(s string) bool { return !utf8.ValidString(s) }
	if noText(r.PrincipalType) || noText(r.PrincipalName) || slices.ContainsFunc(r.Groups, noText) {
		return nil, badAnswer("principal or group is not UTF-8")
	}
	return &pluginpb.AuthResult{
		Outcome: pluginpb.Outcome(r.Outcome), PrincipalType: r.PrincipalType, PrincipalName: r.PrincipalName,
		Groups: r.Groups, LifetimeMs: wholeLifetime(r.Lifetime), CacheTtlMs: wholeMilliseconds(r.CacheTTL),
		Reason: plainText(r.Reason, auth.MaxReasonBytes), Nonce: r.Nonce,
	}, nil
}

// wholeLifetime is a lifetime for a message. 0 means no limit, so nothing else may
// become 0.
func wholeLifetime(d time.Duration) int64 {
	switch {
	case d > 0:
		return max(d.Milliseconds(), 1)
	case d < 0:
		return -1 // which the asker refuses
	}
	return 0
}

var _ auth.Authenticator = (*authenticatorClient)(nil)
