package sdktest

import (
	"context"
	"fmt"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// talk is how the kit talks with an instance of one kind. Every answer is checked as a
// broker checks it, because nobody else does when a value is compiled in.
type talk interface {
	// ordinary asks an ordinary question, the same for the same n. The answer is text
	// if other instances must answer the same, else empty.
	ordinary(ctx context.Context, n int) (string, error)
	// empty asks about nothing.
	empty(ctx context.Context) error
	// largest asks the largest questions that a broker asks.
	largest(ctx context.Context) error
	// odd asks what is rare but allowed.
	odd(ctx context.Context) error
	// of is the instance.
	of() *host.Instance
	// end drains the instance.
	end() error
}

// spoken is the part of a talk that is the same for all kinds.
type spoken struct {
	b  *bench
	in *host.Instance
}

func (s spoken) of() *host.Instance { return s.in }
func (s spoken) end() error         { return s.b.drain(s.in) }

// talkWith begins to talk with an instance.
func (b *bench) talkWith(ctx context.Context, in *host.Instance) (talk, error) {
	s := spoken{b: b, in: in}
	switch b.subject.Kind {
	case plugin.Partitioner:
		p, err := in.Partitioner()
		return &partitionerTalk{spoken: s, p: p}, err
	case plugin.Authenticator:
		a, err := in.Authenticator()
		return &authenticatorTalk{spoken: s, a: a}, err
	case plugin.Authorizer:
		a, err := in.Authorizer()
		if err != nil {
			return nil, err
		}
		t := &authorizerTalk{spoken: s, a: a}
		if in.Description().Has(auth.FeatureStore) {
			return t, t.setRules(ctx, 1, ordinaryRules())
		}
		return t, nil
	case plugin.Retention:
		r, err := in.Retention()
		return &retentionTalk{spoken: s, r: r}, err
	}
	return nil, fmt.Errorf("kind %q is none of %v", b.subject.Kind, plugin.Kinds())
}
