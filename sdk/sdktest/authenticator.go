package sdktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mortisemq/mortise/sdk/auth"
)

// mechanisms of SCRAM that a broker asks credentials for.
var mechanisms = [...]string{"SCRAM-SHA-256", "SCRAM-SHA-512"}

// authenticatorTalk talks with an authenticator.
type authenticatorTalk struct {
	spoken
	a auth.Authenticator
}

func (t *authenticatorTalk) has(feature string) bool { return t.in.Description().Has(feature) }

// peer is a client that asks by a mechanism.
func peer(mechanism string, nonce string) *auth.Peer {
	return &auth.Peer{Listener: "CLIENTS", SecurityProtocol: "SASL_SSL", Mechanism: mechanism, Host: "192.0.2.7", Nonce: []byte(nonce)}
}

// madeUp is a secret that nobody has.
func madeUp(n int) string { return fmt.Sprintf("sdktest-secret-%06d-3f9ac1", n) }

// password asks about a user and a password.
func (t *authenticatorTalk) password(ctx context.Context, user, password string) (auth.Result, error) {
	return t.result(ctx, password, peer("PLAIN", "nonce of "+user), func(p *auth.Peer) (auth.Result, error) {
		return t.a.VerifyPassword(ctx, p, user, []byte(password))
	})
}

// token asks about a bearer token.
func (t *authenticatorTalk) token(ctx context.Context, token string) (auth.Result, error) {
	return t.result(ctx, token, peer("OAUTHBEARER", "nonce of a token"), func(p *auth.Peer) (auth.Result, error) {
		return t.a.ValidateToken(ctx, p, []byte(token))
	})
}

// result asks, and checks what a broker checks.
func (t *authenticatorTalk) result(ctx context.Context, secret string, p *auth.Peer, ask func(*auth.Peer) (auth.Result, error)) (auth.Result, error) {
	var r auth.Result
	nonce := bytes.Clone(p.Nonce)
	err := t.b.guarded(ctx, func() (err error) {
		r, err = ask(p)
		return err
	})
	if err != nil {
		return auth.Result{}, withoutSecret(err, secret)
	}
	if err := checkResult(r, nonce); err != nil {
		return auth.Result{}, err
	}
	if len(secret) > 4 && strings.Contains(r.Reason, secret) {
		return auth.Result{}, errors.New("4: the secret is in Reason")
	}
	return r, nil
}

// withoutSecret is an error that may be shown.
func withoutSecret(err error, secret string) error {
	if len(secret) > 4 && strings.Contains(err.Error(), secret) {
		return errors.New("4: the secret is in an error")
	}
	return err
}

// checkResult looks at an answer.
func checkResult(r auth.Result, nonce []byte) error {
	switch {
	case r.Outcome > auth.Unavailable:
		return fmt.Errorf("outcome %d is none", r.Outcome)
	case r.Outcome == auth.Unavailable:
		return fmt.Errorf("it is unavailable (%s): the kit needs what it needs", r.Reason)
	case r.Outcome == auth.Accept && !bytes.Equal(r.Nonce, nonce):
		return errors.New("2: the answer lacks the question's nonce")
	case r.Outcome == auth.Accept:
		return checkPrincipal(r)
	}
	return nil
}

// checkPrincipal looks at who an accepted client is.
func checkPrincipal(r auth.Result) error {
	for _, g := range r.Groups {
		if g == "" || len(g) > auth.MaxGroupBytes || !utf8.ValidString(g) {
			return fmt.Errorf("group %q is empty, too long or no UTF-8", g)
		}
	}
	text := utf8.ValidString(r.PrincipalType) && utf8.ValidString(r.PrincipalName)
	switch {
	case r.PrincipalType == "" || r.PrincipalType == auth.GroupType || len(r.PrincipalType) > auth.MaxTypeBytes:
		return fmt.Errorf("5: principal of type %q", r.PrincipalType)
	case r.PrincipalName == "" || r.PrincipalName == auth.Wildcard || len(r.PrincipalName) > auth.MaxNameBytes || !text:
		return fmt.Errorf("5: principal %q", r.PrincipalName)
	case r.PrincipalType == auth.UserType && r.PrincipalName == "ANONYMOUS":
		return errors.New("5: User:ANONYMOUS is a client without credentials")
	case len(r.Groups) > auth.MaxGroups:
		return fmt.Errorf("%d groups, at most %d", len(r.Groups), auth.MaxGroups)
	case r.Lifetime < 0 || r.CacheTTL < 0:
		return fmt.Errorf("lifetime %s, to be remembered for %s", r.Lifetime, r.CacheTTL)
	}
	return nil
}

// credential asks for a user's SCRAM credential.
func (t *authenticatorTalk) credential(ctx context.Context, mechanism, user string) (auth.ScramCredential, error) {
	var c auth.ScramCredential
	p := peer(mechanism, "nonce of "+user)
	err := t.b.guarded(ctx, func() (err error) {
		c, err = t.a.ScramCredential(ctx, p, user)
		return err
	})
	if err != nil || !c.Found {
		return auth.ScramCredential{}, err
	}
	size := auth.ScramKeyBytes(mechanism)
	switch {
	case len(c.Salt) == 0 || len(c.Salt) > auth.MaxSaltBytes:
		return c, fmt.Errorf("a salt of %d bytes", len(c.Salt))
	case c.Iterations < auth.MinScramIterations || c.Iterations > auth.MaxScramIterations:
		return c, fmt.Errorf("%d iterations, want %d to %d", c.Iterations, auth.MinScramIterations, auth.MaxScramIterations)
	case len(c.StoredKey) != size || len(c.ServerKey) != size:
		return c, fmt.Errorf("keys of %d and %d bytes for %s", len(c.StoredKey), len(c.ServerKey), mechanism)
	case !bytes.Equal(c.Principal.Nonce, p.Nonce):
		return c, errors.New("2: the answer lacks the question's nonce")
	}
	return c, checkPrincipal(c.Principal)
}

// ordinary implements talk: credentials that nobody has, by each of its features.
func (t *authenticatorTalk) ordinary(ctx context.Context, n int) (string, error) {
	if t.has(auth.FeaturePassword) {
		if err := t.mustReject(ctx, fmt.Sprintf("nobody-%d", n), madeUp(n)); err != nil {
			return "", err
		}
	}
	if t.has(auth.FeatureScram) {
		if c, err := t.credential(ctx, mechanisms[n%2], fmt.Sprintf("nobody-%d", n)); err != nil || c.Found {
			return "", errors.Join(err, found(c.Found, "a made-up user"))
		}
	}
	if t.has(auth.FeatureToken) {
		if r, err := t.token(ctx, madeUp(n)); err != nil || r.Outcome != auth.Reject {
			return "", errors.Join(err, found(err == nil, "a made-up token"))
		}
	}
	return "", nil
}

// found is an error if something that must not be was found.
func found(is bool, what string) error {
	if is {
		return fmt.Errorf("1: %s is accepted", what)
	}
	return nil
}

// mustReject asks about a credential that is wrong.
func (t *authenticatorTalk) mustReject(ctx context.Context, user, password string) error {
	r, err := t.password(ctx, user, password)
	if err != nil {
		return fmt.Errorf("a wrong password of %.40q: %w", user, err)
	}
	return found(r.Outcome == auth.Accept, fmt.Sprintf("user %.40q with a wrong password", user))
}

// empty implements talk.
func (t *authenticatorTalk) empty(ctx context.Context) error {
	if t.has(auth.FeaturePassword) {
		if err := errors.Join(t.mustReject(ctx, "", ""), t.mustReject(ctx, "nobody", ""), t.mustReject(ctx, "", madeUp(1))); err != nil {
			return err
		}
	}
	if t.has(auth.FeatureToken) {
		if r, err := t.token(ctx, ""); err != nil || r.Outcome == auth.Accept {
			return errors.Join(err, found(err == nil, "an empty token"))
		}
	}
	return t.certificates(ctx, nil)
}

// certificates asks about a chain that names nobody; an error is an answer too.
func (t *authenticatorTalk) certificates(ctx context.Context, chain [][]byte) error {
	if !t.has(auth.FeatureCertificate) {
		return nil
	}
	r, err := t.result(ctx, "", peer("", "nonce of a chain"), func(p *auth.Peer) (auth.Result, error) {
		return t.a.MapCertificate(ctx, p, chain)
	})
	if err != nil {
		return t.died(err)
	}
	return found(r.Outcome == auth.Accept, "a chain that is no certificate")
}

// largest implements talk.
func (t *authenticatorTalk) largest(ctx context.Context) error {
	name, secret := strings.Repeat("n", auth.MaxNameBytes), strings.Repeat("s", auth.MaxSecretBytes)
	if t.has(auth.FeaturePassword) {
		if err := errors.Join(t.mustReject(ctx, name, secret), t.mustReject(ctx, "nobody", secret)); err != nil {
			return err
		}
	}
	if t.has(auth.FeatureScram) {
		if c, err := t.credential(ctx, mechanisms[0], name); err != nil || c.Found {
			return errors.Join(err, found(c.Found, "a user with a long name"))
		}
	}
	if t.has(auth.FeatureToken) {
		if r, err := t.token(ctx, secret); err != nil || r.Outcome == auth.Accept {
			return errors.Join(err, found(err == nil, "a long token"))
		}
	}
	chain := make([][]byte, auth.MaxChain)
	for i := range chain {
		chain[i] = bytes.Repeat([]byte{0x30}, auth.MaxChainBytes/auth.MaxChain)
	}
	return t.certificates(ctx, chain)
}

// odd implements talk.
func (t *authenticatorTalk) odd(ctx context.Context) error {
	if t.has(auth.FeaturePassword) {
		for user, password := range map[string]string{"a\x00b": "p", "ü": "\xff\xfe", "nobody\n": "\x00", "*": "p\x00q", "nobody ": "."} {
			if err := t.mustReject(ctx, user, password); err != nil {
				return err
			}
		}
	}
	if t.has(auth.FeatureScram) {
		for _, mechanism := range []string{"", "PLAIN", "SCRAM-SHA-1"} {
			if c, err := t.credential(ctx, mechanism, "nobody"); err != nil && t.died(err) != nil || c.Found {
				return errors.Join(err, found(c.Found, "a made-up user"))
			}
		}
	}
	if t.has(auth.FeatureToken) {
		for _, token := range []string{"\xff", "..", "e30.e30.", "\x00", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9."} {
			if r, err := t.token(ctx, token); err != nil || r.Outcome == auth.Accept {
				return errors.Join(err, found(err == nil, fmt.Sprintf("token %q", token)))
			}
		}
	}
	return t.certificates(ctx, [][]byte{{}, {0xff}, []byte("no DER")})
}
