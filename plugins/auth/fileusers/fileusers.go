package fileusers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/plugins/auth/internal/livefile"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["file"],
  "properties": {
    "file": {"description": "a YAML file of users, read again when it changes", "type": "string", "minLength": 1},
    "remember.ms": {
      "description": "for how long a broker remembers that a password was right",
      "type": "integer", "minimum": 0, "maximum": 60000, "default": 10000
    }
  }
}`

type config struct {
	File       string `json:"file"`
	RememberMS int64  `json:"remember.ms"`
}

// Plugin is the authenticator file-users.
func Plugin() plugin.Plugin {
	return auth.AuthenticatorPlugin(plugin.Plugin{
		Name:     "file-users",
		Version:  "1.0.0",
		Summary:  "users, hashes of passwords and groups in a file",
		Features: []string{auth.FeaturePassword, auth.FeatureScram},
		Schema:   []byte(schema),
		Validate: func(raw json.RawMessage) error { _, err := parse(raw); return err },
	}, func(_ context.Context, c plugin.Config) (auth.Authenticator, error) {
		return open(c)
	})
}

func parse(raw json.RawMessage) (config, error) {
	c := config{RememberMS: 10_000}
	if err := plugin.Decode(raw, &c); err != nil {
		return c, err
	}
	switch most := auth.MaxAcceptTTL.Milliseconds(); {
	case c.File == "":
		return c, errors.New("file is missing")
	case c.RememberMS < 0 || c.RememberMS > most:
		return c, fmt.Errorf("remember.ms is %d, want 0 to %d", c.RememberMS, most)
	}
	return c, nil
}

// authenticator implements auth.Authenticator.
type authenticator struct {
	auth.NoCredentials
	*livefile.File
	remember time.Duration
	users    atomic.Pointer[users]
	seed     maphash.Seed
	fallback passwordHash // costs what NewEntry's cost, for a file without any
	turns    chan struct{}
}

// hashesAtOnce is how many passwords are hashed at the same time: half of the
// processors, so that a flood of logins leaves the other half to who is in already.
func hashesAtOnce() int { return max(runtime.GOMAXPROCS(0)/2, 1) }

func open(c plugin.Config) (*authenticator, error) {
	settings, err := parse(c.JSON)
	if err != nil {
		return nil, err
	}
	// No password has the key zero: nobody finds one.
	likeNew, err := parsePBKDF2(pbkdf2Hash{name: "sha256", iterations: newIterations, salt: newSalt(), key: make([]byte, 32)}.String())
	if err != nil {
		return nil, err
	}
	a := &authenticator{
		remember: time.Duration(settings.RememberMS) * time.Millisecond,
		seed:     maphash.MakeSeed(),
		fallback: likeNew.dummy(),
		turns:    make(chan struct{}, hashesAtOnce()),
	}
	a.File, err = livefile.Open(settings.File, maxFileBytes, c.Logger(), func(content []byte) error {
		all, err := parseFile(content)
		if err == nil {
			a.users.Store(all)
		}
		return err
	})
	return a, err
}

// VerifyPassword implements auth.Authenticator. It costs one hash whoever asks, and
// waits for its turn among hashesAtOnce until ctx is done.
func (a *authenticator) VerifyPassword(ctx context.Context, p *auth.Peer, name string, password []byte) (auth.Result, error) {
	if err := ctx.Err(); err != nil {
		return auth.Result{}, err
	}
	select {
	case a.turns <- struct{}{}:
		defer func() { <-a.turns }()
	case <-ctx.Done():
		return auth.Result{}, ctx.Err()
	}
	all := a.users.Load()
	r := auth.Result{Nonce: p.Nonce}
	switch u := all.byName[name]; {
	case u == nil:
		a.dummyFor(all, name).matches(password)
		r.Reason = "no such user"
	case u.password == nil:
		a.dummyFor(all, name).matches(password)
		r.Reason = "the user has no password"
	case !u.password.matches(password):
		r.Reason = "wrong password"
	default:
		return a.accepted(p, name, u), nil
	}
	return r, nil
}

// ScramCredential implements auth.Authenticator.
func (a *authenticator) ScramCredential(ctx context.Context, p *auth.Peer, name string) (auth.ScramCredential, error) {
	if err := ctx.Err(); err != nil {
		return auth.ScramCredential{}, err
	}
	if u := a.users.Load().byName[name]; u != nil {
		if c, ok := u.scram[p.Mechanism]; ok {
			c = cloneScram(c)
			c.Principal = a.accepted(p, name, u)
			return c, nil
		}
	}
	return auth.ScramCredential{Principal: auth.Result{Nonce: p.Nonce, Reason: "no such user, or not with this mechanism"}}, nil
}

func (a *authenticator) accepted(p *auth.Peer, name string, u *user) auth.Result {
	return auth.Result{
		Outcome: auth.Accept, PrincipalType: auth.UserType, PrincipalName: name, Groups: slices.Clone(u.groups),
		CacheTTL: a.remember, Nonce: p.Nonce,
	}
}

// dummyFor is a hash that costs what one of the file costs, always the same for a name,
// so that time does not tell who is in the file.
func (a *authenticator) dummyFor(all *users, name string) passwordHash {
	if len(all.hashes) == 0 {
		return a.fallback
	}
	return all.hashes[maphash.String(a.seed, name)%uint64(len(all.hashes))]
}

var (
	_ auth.Authenticator = (*authenticator)(nil)
	_ plugin.Metered     = (*authenticator)(nil)
)
