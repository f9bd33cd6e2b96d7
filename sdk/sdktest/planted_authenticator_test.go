package sdktest

import (
	"bytes"
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

const alicesPassword = "a long Password"

func aliceFacts() Facts {
	return Facts{Login: &Login{User: "alice", Password: alicesPassword}, Token: "a long Token"}
}

// anAuthenticator knows alice, until something is planted in it.
type anAuthenticator struct {
	auth.NoCredentials
	features []string
	same     func(want, got string) bool
	change   func(user, secret string, r *auth.Result) error
	scram    func(c *auth.ScramCredential)
	log      func(c plugin.Config, secret string)
	config   plugin.Config
}

func goodAuthenticator() *anAuthenticator {
	return &anAuthenticator{
		features: []string{auth.FeaturePassword, auth.FeatureScram, auth.FeatureToken},
		same:     func(want, got string) bool { return want == got },
	}
}

func (a *anAuthenticator) plugin() plugin.Plugin {
	return auth.AuthenticatorPlugin(plugin.Plugin{Name: "good", Version: "1.0.0", Validate: plugin.NoConfig, Features: a.features},
		func(_ context.Context, c plugin.Config) (auth.Authenticator, error) {
			own := *a
			own.config = c
			return &own, c.Decode(&struct{}{})
		})
}

func (a *anAuthenticator) answer(p *auth.Peer, known bool, user, secret string) (auth.Result, error) {
	r := auth.Result{Nonce: p.Nonce, Reason: "unknown user or wrong password"}
	if known {
		r = auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: user, Nonce: p.Nonce}
	}
	if a.log != nil {
		a.log(a.config, secret)
	}
	if a.change != nil {
		if err := a.change(user, secret, &r); err != nil {
			return auth.Result{}, err
		}
	}
	return r, nil
}

// VerifyPassword implements auth.Authenticator.
func (a *anAuthenticator) VerifyPassword(_ context.Context, p *auth.Peer, user string, password []byte) (auth.Result, error) {
	return a.answer(p, user == "alice" && a.same(alicesPassword, string(password)), user, string(password))
}

// ValidateToken implements auth.Authenticator.
func (a *anAuthenticator) ValidateToken(_ context.Context, p *auth.Peer, token []byte) (auth.Result, error) {
	return a.answer(p, a.same("a long Token", string(token)), "alice", string(token))
}

// ScramCredential implements auth.Authenticator.
func (a *anAuthenticator) ScramCredential(_ context.Context, p *auth.Peer, user string) (auth.ScramCredential, error) {
	if user != "alice" || p.Mechanism != mechanisms[0] {
		return auth.ScramCredential{}, nil
	}
	c := auth.ScramCredential{Found: true, Salt: []byte("salt and more"), Iterations: 4096}
	salted, err := pbkdf2.Key(sha256.New, alicesPassword, c.Salt, 4096, sha256.Size)
	if err != nil {
		return c, err
	}
	stored := sha256.Sum256(keyed(sha256.New, salted, "Client Key"))
	c.StoredKey, c.ServerKey = stored[:], keyed(sha256.New, salted, "Server Key")
	c.Principal = auth.Result{PrincipalType: "User", PrincipalName: user, Nonce: p.Nonce}
	if a.scram != nil {
		a.scram(&c)
	}
	return c, nil
}

func authenticatorFaults() []fault {
	answers := func(change func(user, secret string, r *auth.Result) error) plugin.Plugin {
		a := goodAuthenticator()
		a.change = change
		return a.plugin()
	}
	compares := func(same func(want, got string) bool) plugin.Plugin {
		a := goodAuthenticator()
		a.same = same
		return a.plugin()
	}
	scrams := func(change func(*auth.ScramCredential)) plugin.Plugin {
		a := goodAuthenticator()
		a.scram = change
		return a.plugin()
	}
	features := func(names ...string) plugin.Plugin {
		a := goodAuthenticator()
		a.features = names
		return a.plugin()
	}
	logs := goodAuthenticator()
	logs.log = func(c plugin.Config, secret string) { c.Logger().Info("login", "password", secret) }
	var salts atomic.Int32
	all := []fault{
		{name: "lets-everybody-in", finds: "authenticator/rejects", says: "accepted", plugin: answers(func(_, _ string, r *auth.Result) error {
			r.Outcome, r.PrincipalType, r.PrincipalName = auth.Accept, "User", "guest"
			return nil
		})},
		{name: "lets-an-empty-password-in", finds: "authenticator/rejects", says: "accepted", plugin: answers(func(user, secret string, r *auth.Result) error {
			if secret == "" {
				r.Outcome, r.PrincipalType, r.PrincipalName = auth.Accept, "User", user+"!"
			}
			return nil
		})},
		{name: "an-error-for-a-wrong-password", finds: "authenticator/rejects", says: "no such user", plugin: answers(func(_, _ string, r *auth.Result) error {
			if r.Outcome == auth.Reject {
				return errors.New("no such user")
			}
			return nil
		})},
		{name: "unknown-outcome", finds: answersCase, says: "outcome 7", plugin: answers(func(_, _ string, r *auth.Result) error { r.Outcome = 7; return nil })},
		{name: "no-nonce", finds: "authenticator/accepts", says: "nonce", plugin: answers(func(_, _ string, r *auth.Result) error { r.Nonce = nil; return nil })},
		{name: "no-nonce-over-grpc", way: WayInProcess, finds: "authenticator/accepts", says: "nonce", plugin: answers(func(_, _ string, r *auth.Result) error { r.Nonce = []byte("x"); return nil })},
		{name: "no-principal", finds: "authenticator/accepts", says: "principal", plugin: answers(func(_, _ string, r *auth.Result) error { r.PrincipalName = ""; return nil })},
		{name: "a-group-as-principal", finds: "authenticator/accepts", says: "Group", plugin: answers(func(_, _ string, r *auth.Result) error { r.PrincipalType = "Group"; return nil })},
		{name: "anonymous", finds: "authenticator/accepts", says: "ANONYMOUS", plugin: answers(func(_, _ string, r *auth.Result) error { r.PrincipalName = "ANONYMOUS"; return nil })},
		{name: "remembered-too-long", finds: "authenticator/accepts", says: "remembered", plugin: answers(func(_, _ string, r *auth.Result) error { r.CacheTTL = time.Hour; return nil })},
		{name: "compares-a-prefix", finds: "authenticator/nearly", says: "nearly", plugin: compares(func(want, got string) bool {
			return got != "" && strings.HasPrefix(want, got)
		})},
		{name: "compares-without-case", finds: "authenticator/nearly", says: "nearly", plugin: compares(strings.EqualFold)},
		{name: "trims", finds: "authenticator/nearly", says: "nearly", plugin: compares(func(want, got string) bool { return want == strings.TrimSpace(got) })},
		{name: "ends-at-zero", finds: "authenticator/token", says: "nearly", plugin: compares(func(want, got string) bool { return want == strings.TrimRight(got, "\x00") })},
		{name: "secret-in-reason", finds: "authenticator/rejects", says: "Reason", plugin: answers(func(_, secret string, r *auth.Result) error { r.Reason = "wrong: " + secret; return nil })},
		{name: "secret-in-error", finds: "authenticator/rejects", says: "in an error", plugin: answers(func(_, secret string, _ *auth.Result) error { return fmt.Errorf("wrong: %s", secret) })},
		{name: "secret-in-log", finds: "authenticator/secrets", says: "log", plugin: logs.plugin()},
		{name: "names-too-much", finds: "authenticator/features", says: "does not have it", plugin: features(auth.FeaturePassword, auth.FeatureScram, auth.FeatureToken, auth.FeatureCertificate)},
		{name: "names-too-little", finds: "authenticator/features", says: "does not name", plugin: features(auth.FeaturePassword)},
		{name: "few-iterations", finds: "authenticator/scram", says: "iterations", plugin: scrams(func(c *auth.ScramCredential) { c.Iterations = 1 })},
		{name: "another-key", finds: "authenticator/scram", says: "stored key", plugin: scrams(func(c *auth.ScramCredential) { c.StoredKey = bytes.Clone(c.ServerKey) })},
		{name: "another-salt", finds: "authenticator/scram", says: "two credentials", plugin: scrams(func(c *auth.ScramCredential) { c.Salt[0] += byte(salts.Add(1)) })},
	}
	for i := range all {
		all[i].facts = aliceFacts()
	}
	return all
}
