package pluginhost

import (
	"context"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// guard calls a compiled-in plugin on goroutines of its own, so that one that hangs
// or panics costs its caller no more than a deadline. What it shares with such a
// call is a copy. A call that is given up on keeps its place until it returns: there
// are never more than the entry's concurrency.
type guard struct {
	places chan struct{}
}

func newGuard(concurrency int) *guard { return &guard{places: make(chan struct{}, concurrency)} }

// result calls f behind the guard and waits for it until ctx is done; what it
// returns later is dropped.
func result[T any](ctx context.Context, g *guard, f func() (T, error)) (T, error) {
	select {
	case g.places <- struct{}{}:
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
	v, err := await(ctx, func() (T, error) {
		defer func() { <-g.places }()
		return f()
	}, nil)
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// wait waits until no call runs; false: ctx was done before.
func (g *guard) wait(ctx context.Context) bool {
	for n := range cap(g.places) {
		select {
		case g.places <- struct{}{}:
		case <-ctx.Done():
			for range n {
				<-g.places
			}
			return false
		}
	}
	return true
}

// await calls f on a goroutine of its own and gives up on it when ctx is done. A
// panic is an ErrPanicked. What f makes after that is given to late, unless that is
// nil.
func await[T any](ctx context.Context, f func() (T, error), late func(T)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome)
	go func() {
		// Stays if f ends the goroutine in place of returning.
		o := outcome{err: fmt.Errorf("%w: it ended its goroutine", plugin.ErrPanicked)}
		defer func() {
			if p := recover(); p != nil {
				o.err = fmt.Errorf("%w: %v", plugin.ErrPanicked, p)
			}
			select {
			case done <- o:
			case <-ctx.Done():
				if o.err == nil && late != nil {
					late(o.value)
				}
			}
		}()
		o.value, o.err = f()
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

// guarded is await for what makes nothing.
func guarded(ctx context.Context, f func() error) error {
	_, err := await(ctx, func() (struct{}, error) { return struct{}{}, f() }, nil)
	return err
}

// guardedAuthenticator is a compiled-in authenticator.
type guardedAuthenticator struct {
	guard *guard
	auth.Authenticator
}

func (a guardedAuthenticator) VerifyPassword(ctx context.Context, p *auth.Peer, user string, password []byte) (auth.Result, error) {
	peer, secret := clonePeer(p), slices.Clone(password)
	return result(ctx, a.guard, func() (auth.Result, error) {
		defer clear(secret)
		return a.Authenticator.VerifyPassword(ctx, peer, user, secret)
	})
}

func (a guardedAuthenticator) ScramCredential(ctx context.Context, p *auth.Peer, user string) (auth.ScramCredential, error) {
	peer := clonePeer(p)
	return result(ctx, a.guard, func() (auth.ScramCredential, error) {
		return a.Authenticator.ScramCredential(ctx, peer, user)
	})
}

func (a guardedAuthenticator) ValidateToken(ctx context.Context, p *auth.Peer, token []byte) (auth.Result, error) {
	peer, secret := clonePeer(p), slices.Clone(token)
	return result(ctx, a.guard, func() (auth.Result, error) {
		defer clear(secret)
		return a.Authenticator.ValidateToken(ctx, peer, secret)
	})
}

func (a guardedAuthenticator) MapCertificate(ctx context.Context, p *auth.Peer, chain [][]byte) (auth.Result, error) {
	peer, certs := clonePeer(p), slices.Clone(chain)
	return result(ctx, a.guard, func() (auth.Result, error) {
		return a.Authenticator.MapCertificate(ctx, peer, certs)
	})
}

func clonePeer(p *auth.Peer) *auth.Peer {
	c := *p
	c.Nonce = slices.Clone(p.Nonce)
	return &c
}

// guardedAuthorizer is a compiled-in authorizer.
type guardedAuthorizer struct {
	guard *guard
	auth.Authorizer
}

func (a guardedAuthorizer) Authorize(ctx context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	client, asked := *c, slices.Clone(actions)
	decisions, err := result(ctx, a.guard, func() ([]auth.Decision, error) {
		own := make([]auth.Decision, len(asked))
		return own, a.Authorizer.Authorize(ctx, &client, asked, own)
	})
	copy(out, decisions)
	return err
}

func (a guardedAuthorizer) AuthorizeByResourceType(ctx context.Context, c *auth.Client, op auth.Operation, t auth.ResourceType) (auth.Decision, error) {
	client := *c
	return result(ctx, a.guard, func() (auth.Decision, error) {
		return a.Authorizer.AuthorizeByResourceType(ctx, &client, op, t)
	})
}

// guardedRules is a compiled-in authorizer that takes rules.
type guardedRules struct {
	guard *guard
	taker auth.RuleTaker
}

func (a guardedRules) SetRules(ctx context.Context, epoch uint64, rules []auth.Rule) error {
	_, err := result(ctx, a.guard, func() (struct{}, error) { return struct{}{}, a.taker.SetRules(ctx, epoch, rules) })
	return err
}

// guardedRetention is a compiled-in retention. Its caller must not change what the
// facts point to; the facts themselves may be used again.
type guardedRetention struct {
	guard *guard
	storage.Retention
}

func (r guardedRetention) Decide(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	asked := slices.Clone(logs)
	return result(ctx, r.guard, func() ([]storage.Verdict, error) { return r.Retention.Decide(ctx, asked) })
}
