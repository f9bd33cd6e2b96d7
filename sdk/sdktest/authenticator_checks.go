package sdktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"strings"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

func authenticatorChecks() []check {
	all := []check{
		{name: "authenticator/features", says: "it names what it can verify, and what it can't is ErrUnsupported", run: checkFeatures},
		{name: "authenticator/rejects", says: "made-up users, passwords and tokens are rejected, not an error", run: checkRejects},
		{name: "authenticator/accepts", says: "the right password is accepted, with the nonce and a whole principal", run: checkAccepts},
		{name: "authenticator/nearly", says: "what is nearly the right password is rejected", run: checkNearly},
		{name: "authenticator/scram", says: "a SCRAM credential is complete, always the same, and made of the password", run: checkScram},
		{name: "authenticator/token", says: "the right token is accepted, what is nearly it is not", run: checkToken},
		{name: "authenticator/secrets", says: "secrets are in no log, no error and no reason", run: checkSecrets},
	}
	for i := range all {
		all[i].kind = plugin.Authenticator
	}
	return all
}

// authenticating runs a case with one instance.
func authenticating(ctx context.Context, b *bench, run func(t *authenticatorTalk) error) error {
	t, err := b.talk(ctx)
	if err != nil {
		return err
	}
	if err := run(t.(*authenticatorTalk)); err != nil {
		return err
	}
	return t.end()
}

// withLogin runs a case that needs a user who is accepted.
func withLogin(ctx context.Context, b *bench, feature string, run func(t *authenticatorTalk, l Login) error) error {
	return authenticating(ctx, b, func(t *authenticatorTalk) error {
		switch {
		case !t.has(feature):
			return skipped("it has no feature " + feature)
		case b.subject.Facts.Login == nil:
			return skipped("the facts name no login")
		}
		return run(t, *b.subject.Facts.Login)
	})
}

// died says whether a call ended as no call may, whatever it was asked.
func (t *authenticatorTalk) died(err error) error {
	if errors.Is(err, plugin.ErrPanicked) || errors.Is(err, plugin.ErrGone) || errors.Is(err, plugin.ErrBadAnswer) || hangs(err) {
		return err
	}
	return nil
}

func checkFeatures(ctx context.Context, b *bench) error {
	return authenticating(ctx, b, func(t *authenticatorTalk) error {
		asks := map[string]func() error{
			auth.FeaturePassword: func() error { _, err := t.password(ctx, "nobody", madeUp(0)); return err },
			auth.FeatureScram:    func() error { _, err := t.credential(ctx, mechanisms[0], "nobody"); return err },
			auth.FeatureToken:    func() error { _, err := t.token(ctx, madeUp(0)); return err },
			auth.FeatureCertificate: func() error {
				_, err := t.a.MapCertificate(ctx, peer("", "n"), [][]byte{{0xff}})
				return err
			},
		}
		named := 0
		for feature, ask := range asks {
			err := t.b.guarded(ctx, ask)
			switch unsupported := errors.Is(err, plugin.ErrUnsupported); {
			case t.has(feature) && unsupported:
				return fmt.Errorf("it names the feature %s and does not have it", feature)
			case t.has(feature):
				named++
			case !unsupported:
				return fmt.Errorf("it does not name the feature %s, and answers with error %v; embed auth.NoCredentials", feature, err)
			}
		}
		if named == 0 {
			return errors.New("it names no feature, so nobody ever asks it")
		}
		return nil
	})
}

func checkRejects(ctx context.Context, b *bench) error {
	return authenticating(ctx, b, func(t *authenticatorTalk) error {
		for n := range 3 {
			if _, err := t.ordinary(ctx, 5000+n); err != nil {
				return err
			}
		}
		if !t.has(auth.FeaturePassword) {
			return nil
		}
		for _, user := range []string{"admin", "kafka"} {
			if err := errors.Join(t.mustReject(ctx, user, ""), t.mustReject(ctx, user, madeUp(1))); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkAccepts(ctx context.Context, b *bench) error {
	return withLogin(ctx, b, auth.FeaturePassword, func(t *authenticatorTalk, l Login) error {
		for range 3 {
			r, err := t.password(ctx, l.User, l.Password)
			if err != nil {
				return err
			}
			if r.Outcome != auth.Accept {
				return fmt.Errorf("user %q is rejected: %s", l.User, r.Reason)
			}
			if r.CacheTTL > auth.MaxAcceptTTL || r.Lifetime > 0 && r.CacheTTL > r.Lifetime {
				return fmt.Errorf("to be remembered for %s, at most %s and its lifetime of %s", r.CacheTTL, auth.MaxAcceptTTL, r.Lifetime)
			}
		}
		return nil
	})
}

// nearly are texts that are nearly the secret.
func nearly(secret string) []string {
	last := secret[len(secret)-1]
	all := []string{"", secret[1:], secret[:len(secret)-1], secret + " ", secret + "\x00", " " + secret, secret + secret, secret[:len(secret)-1] + string(rune(last^1))}
	for _, other := range []string{strings.ToUpper(secret), strings.ToLower(secret)} {
		if other != secret {
			all = append(all, other)
		}
	}
	return all
}

func checkNearly(ctx context.Context, b *bench) error {
	return withLogin(ctx, b, auth.FeaturePassword, func(t *authenticatorTalk, l Login) error {
		if l.Password == "" {
			return errors.New("the facts name an empty password")
		}
		for i, wrong := range nearly(l.Password) {
			r, err := t.password(ctx, l.User, wrong)
			if err != nil {
				return err
			}
			if r.Outcome == auth.Accept {
				return fmt.Errorf("1: a password that is nearly right is accepted (change %d)", i)
			}
		}
		return t.mustReject(ctx, l.User+"-", l.Password)
	})
}

func checkScram(ctx context.Context, b *bench) error {
	return withLogin(ctx, b, auth.FeatureScram, func(t *authenticatorTalk, l Login) error {
		known := 0
		for _, mechanism := range mechanisms {
			first, err := t.credential(ctx, mechanism, l.User)
			if err != nil {
				return fmt.Errorf("%s: %w", mechanism, err)
			}
			second, err := t.credential(ctx, mechanism, l.User)
			if err != nil {
				return err
			}
			if !first.Found {
				continue
			}
			known++
			if !bytes.Equal(first.Salt, second.Salt) || !bytes.Equal(first.StoredKey, second.StoredKey) || first.Iterations != second.Iterations {
				return fmt.Errorf("%s: it gave two credentials for one user", mechanism)
			}
			if err := proves(mechanism, first, l.Password); err != nil {
				return fmt.Errorf("%s: %w", mechanism, err)
			}
		}
		if known == 0 {
			return skipped(fmt.Sprintf("user %q has no SCRAM credential", l.User))
		}
		return nil
	})
}

// proves compares a credential with what RFC 5802 makes of the password.
func proves(mechanism string, c auth.ScramCredential, password string) error {
	sum := sha256.New
	if mechanism == mechanisms[1] {
		sum = sha512.New
	}
	salted, err := pbkdf2.Key(sum, password, c.Salt, int(c.Iterations), sum().Size())
	if err != nil {
		return err
	}
	stored := sum()
	stored.Write(keyed(sum, salted, "Client Key"))
	if !hmac.Equal(stored.Sum(nil), c.StoredKey) {
		return errors.New("the stored key is not the password's")
	}
	if !hmac.Equal(keyed(sum, salted, "Server Key"), c.ServerKey) {
		return errors.New("the server key is not the password's")
	}
	return nil
}

func keyed(sum func() hash.Hash, key []byte, text string) []byte {
	m := hmac.New(sum, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

func checkToken(ctx context.Context, b *bench) error {
	return authenticating(ctx, b, func(t *authenticatorTalk) error {
		token := b.subject.Facts.Token
		switch {
		case !t.has(auth.FeatureToken):
			return skipped("it has no feature " + auth.FeatureToken)
		case token == "":
			return skipped("the facts name no token")
		}
		r, err := t.token(ctx, token)
		if err != nil || r.Outcome != auth.Accept {
			return errors.Join(err, fmt.Errorf("the token is rejected: %s", r.Reason))
		}
		for i, wrong := range nearly(token) {
			if r, err := t.token(ctx, wrong); err != nil || r.Outcome == auth.Accept {
				return errors.Join(err, found(err == nil, fmt.Sprintf("a token that is nearly right (change %d)", i)))
			}
		}
		return nil
	})
}

// checkSecrets asks a target of its own and ends it, so that all that it logs is read.
func checkSecrets(ctx context.Context, b *bench) error {
	target, _, err := b.fresh(ctx)
	if err != nil {
		return err
	}
	in, err := b.instance(ctx, target)
	if err != nil {
		return err
	}
	any, err := b.talkWith(ctx, in)
	if err != nil {
		return err
	}
	t := any.(*authenticatorTalk)
	for n := range 4 {
		if _, err := t.ordinary(ctx, 9000+n); err != nil {
			return err
		}
	}
	secrets := []string{madeUp(9000), madeUp(9001), madeUp(9002), madeUp(9003)}
	if l := b.subject.Facts.Login; l != nil && t.has(auth.FeaturePassword) {
		if _, err := t.password(ctx, l.User, l.Password); err != nil {
			return err
		}
		if len(l.Password) >= 12 { // shorter ones may be in a log by chance
			secrets = append(secrets, l.Password)
		}
	}
	if err := t.end(); err != nil {
		return err
	}
	b.stop(target)
	for _, secret := range secrets {
		if b.logs.holds(secret) {
			return errors.New("4: a secret is in its log")
		}
	}
	return nil
}
