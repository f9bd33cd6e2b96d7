package pluginhost

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// canaryName is the user, topic and resource of made-up questions.
const canaryName = "mortise-canary"

// canaryKeys is how many keys a partitioner is asked for; canaryPartitions is the
// number of partitions that tells most hashes apart.
const (
	canaryKeys       = 64
	canaryPartitions = 4093
)

// canary asks the generation a made-up question of its kind and checks the answer.
// before is who serves now, if somebody does.
func (s *slot) canary(ctx context.Context, g, before *generation) error {
	var err error
	switch g.spec.Kind {
	case plugin.Partitioner:
		err = s.canaryPartitioner(ctx, g)
	case plugin.Authenticator:
		err = g.canaryAuthenticator(ctx)
	case plugin.Authorizer:
		err = g.canaryAuthorizer(ctx)
		if errors.Is(err, plugin.ErrUnavailable) && g.rules != nil && s.rules.Load() == nil {
			return nil // it waits for the cluster's rules, and says so
		}
		if err == nil && before != nil {
			s.replay(ctx, g)
		}
	case plugin.Retention:
		err = g.canaryRetention(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCanary, err)
	}
	return nil
}

// canaryPartitioner asks for sample keys. A deterministic partitioner must send them
// where the one before did, unless the entry allows another; who serves first sets
// the sample.
func (s *slot) canaryPartitioner(ctx context.Context, g *generation) error {
	r := &partitioner.Request{Topic: canaryName, Partitions: canaryPartitions, Keys: make([][]byte, canaryKeys)}
	for i := range r.Keys {
		r.Keys[i] = strconv.AppendInt(nil, int64(i)*7919, 10)
	}
	r.Keys[0], r.Keys[1] = nil, []byte{}
	ask := func() ([]int32, error) {
		out := make([]int32, len(r.Keys))
		return out, g.assign(ctx, r, out)
	}
	if g.guard != nil {
		unguarded := ask
		ask = func() ([]int32, error) { return result(ctx, g.guard, unguarded) }
	}
	out, err := ask()
	if err != nil {
		return err
	}
	var sample []int32
	if g.about.Has(partitioner.FeatureDeterministic) {
		sample = out[1:] // without the null key
	}
	serves := g.sample != nil // then it may not change its mind either
	if now := s.sample.Load(); now != nil && (serves || !g.spec.AllowRemap) && !slices.Equal(sample, *now) {
		return fmt.Errorf("%w: keys would go to other partitions than now (allow_remap of the entry, --allow-remap of an upgrade, permits it)", ErrRefused)
	}
	g.sample = sample
	return nil
}

// canaryAuthenticator tries a user that can't exist, with each feature there is. It
// must not be let in. Unavailable is an answer.
func (g *generation) canaryAuthenticator(ctx context.Context) error {
	peer := &auth.Peer{Listener: canaryName, SecurityProtocol: "SASL_SSL", Host: "127.0.0.1"}
	secret := []byte(rand.Text())
	user := canaryName + "-" + rand.Text()
	asks := map[string]func() (auth.Result, error){
		auth.FeaturePassword: func() (auth.Result, error) {
			peer.Mechanism = "PLAIN"
			return g.authenticator.VerifyPassword(ctx, peer, user, secret)
		},
		auth.FeatureScram: func() (auth.Result, error) {
			peer.Mechanism = "SCRAM-SHA-256"
			c, err := g.authenticator.ScramCredential(ctx, peer, user)
			return auth.Result{Nonce: peer.Nonce}, errors.Join(err, checkScram(peer, &c))
		},
		auth.FeatureToken: func() (auth.Result, error) {
			peer.Mechanism = "OAUTHBEARER"
			return g.authenticator.ValidateToken(ctx, peer, secret)
		},
	}
	for _, feature := range []string{auth.FeaturePassword, auth.FeatureScram, auth.FeatureToken} {
		if !g.about.Has(feature) {
			continue
		}
		peer.Nonce = []byte(rand.Text())
		r, err := asks[feature]()
		if err == nil {
			err = checkResult(peer, &r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", feature, err)
		}
		if r.Outcome == auth.Accept {
			return fmt.Errorf("%w: %s of a user that does not exist was accepted", ErrBadAnswer, feature)
		}
	}
	return nil
}

// canaryAuthorizer asks for an operation that does not exist, which must not be
// allowed, and for one that does.
func (g *generation) canaryAuthorizer(ctx context.Context) error {
	client := &auth.Client{PrincipalType: "User", PrincipalName: canaryName, Listener: canaryName, RequestKey: -1}
	actions := []auth.Action{
		{Operation: 127, Resource: auth.Topic, Name: canaryName},
		{Operation: auth.OpDescribe, Resource: auth.Topic, Name: canaryName},
	}
	out := make([]auth.Decision, len(actions))
	if err := g.authorizer.Authorize(ctx, client, actions, out); err != nil {
		return err
	}
	if err := checkDecisions(out); err != nil {
		return err
	}
	if out[0].Verdict == auth.Allow {
		return fmt.Errorf("%w: an operation that does not exist was allowed", ErrBadAnswer)
	}
	return nil
}

// canaryRetention shows a log that nobody has.
func (g *generation) canaryRetention(ctx context.Context) error {
	const now = 1_700_000_000_000
	logs := []storage.LogFacts{{
		Topic: canaryName, LeaderEpoch: 7, NowMS: now, HighWatermark: 20, LastStable: 20,
		RetentionMS: storage.Unlimited, RetentionBytes: storage.Unlimited,
		Segments: []storage.SegmentFacts{
			{NextOffset: 10, Bytes: 1 << 20, MaxTimestampMS: now - 1000, ModifiedMS: now - 1000},
			{BaseOffset: 10, NextOffset: 20, Bytes: 1 << 10, MaxTimestampMS: now, ModifiedMS: now, Active: true},
		},
	}}
	verdicts, err := g.retention.Decide(ctx, logs)
	if err != nil {
		return err
	}
	return checkVerdicts(logs, verdicts)
}
