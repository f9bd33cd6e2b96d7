package pluginhost

import (
	"context"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Authenticator is the handle of an authenticator: whoever is in service under its
// name answers, its form checked. With an error the Result is the zero one, which
// rejects; the client shall be told to try again. It is safe for concurrent use.
type Authenticator struct{ handle }

// Authenticator gives the handle of a name; false: the catalogue has no such
// authenticator now. The handle is good anyway, and follows what the catalogue says
// later.
func (h *Host) Authenticator(name string) (*Authenticator, bool) {
	a := &Authenticator{handle{h, name, plugin.Authenticator}}
	return a, a.slot() != nil
}

// VerifyPassword implements auth.Authenticator.
func (a *Authenticator) VerifyPassword(ctx context.Context, p *auth.Peer, user string, password []byte) (auth.Result, error) {
	return a.verify(ctx, p, func(ctx context.Context, g *generation) (auth.Result, error) {
		return g.authenticator.VerifyPassword(ctx, p, user, password)
	})
}

// ValidateToken implements auth.Authenticator.
func (a *Authenticator) ValidateToken(ctx context.Context, p *auth.Peer, token []byte) (auth.Result, error) {
	return a.verify(ctx, p, func(ctx context.Context, g *generation) (auth.Result, error) {
		return g.authenticator.ValidateToken(ctx, p, token)
	})
}

// MapCertificate implements auth.Authenticator.
func (a *Authenticator) MapCertificate(ctx context.Context, p *auth.Peer, chain [][]byte) (auth.Result, error) {
	return a.verify(ctx, p, func(ctx context.Context, g *generation) (auth.Result, error) {
		return g.authenticator.MapCertificate(ctx, p, chain)
	})
}

// ScramCredential implements auth.Authenticator.
func (a *Authenticator) ScramCredential(ctx context.Context, p *auth.Peer, user string) (auth.ScramCredential, error) {
	s := a.slot()
	if s == nil {
		return auth.ScramCredential{}, a.missing()
	}
	var c auth.ScramCredential
	err := s.call(ctx, func(ctx context.Context, g *generation) (err error) {
		if c, err = g.authenticator.ScramCredential(ctx, p, user); err != nil {
			return err
		}
		return checkScram(p, &c)
	})
	if err != nil {
		return auth.ScramCredential{}, err
	}
	return c, nil
}

// verify runs a question that a Result answers.
func (a *Authenticator) verify(ctx context.Context, p *auth.Peer, f func(context.Context, *generation) (auth.Result, error)) (auth.Result, error) {
	s := a.slot()
	if s == nil {
		return auth.Result{}, a.missing()
	}
	var r auth.Result
	err := s.call(ctx, func(ctx context.Context, g *generation) (err error) {
		if r, err = f(ctx, g); err != nil {
			return err
		}
		return checkResult(p, &r)
	})
	if err != nil {
		return auth.Result{}, err
	}
	return r, nil
}

var _ auth.Authenticator = (*Authenticator)(nil)
