package main

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/storage"
)

// adder is the partitioner.
type adder struct{ faults faultFile }

// Assign implements partitioner.Partitioner.
func (a adder) Assign(ctx context.Context, r *partitioner.Request, out []int32) error {
	lie, err := a.faults.do(ctx)
	for i, key := range r.Keys {
		sum := int32(0)
		for _, b := range key {
			sum += int32(b)
		}
		if out[i] = sum % r.Partitions; lie {
			out[i] += r.Partitions
		}
		if len(key) == 0 {
			out[i] = partitioner.Any
		}
	}
	return err
}

// passwords is the authenticator.
type passwords struct {
	auth.NoCredentials
	faults faultFile
	policy policy
}

// VerifyPassword implements auth.Authenticator.
func (p *passwords) VerifyPassword(ctx context.Context, peer *auth.Peer, user string, password []byte) (auth.Result, error) {
	lie, err := p.faults.do(ctx)
	r := auth.Result{Nonce: peer.Nonce}
	if string(password) == "secret-"+user && p.policy.allows(user) {
		r = peer.Accepted(user)
		r.CacheTTL = p.policy.ttl
	}
	if lie { // to another question, and generous
		r = peer.Accepted(user)
		r.Nonce = []byte(rand.Text())
	}
	if large := p.faults.large(); large != "" {
		r.Groups = strings.Split(large, "\n")
	}
	return r, err
}

// decider is the authorizer that is asked.
type decider struct {
	faults faultFile
	policy policy
}

// decision is the right answer.
func (d *decider) decision(op auth.Operation, name string) auth.Decision {
	switch {
	case op > auth.OpTwoPhaseCommit:
		return auth.Decision{}
	case strings.HasPrefix(name, pushPrefix):
		return auth.Decision{Verdict: auth.Abstain, CacheTTL: d.policy.ttl}
	case d.policy.allows(name):
		return auth.Decision{Verdict: auth.Allow, CacheTTL: d.policy.ttl}
	}
	return auth.Decision{CacheTTL: d.policy.ttl}
}

// Authorize implements auth.Authorizer.
func (d *decider) Authorize(ctx context.Context, _ *auth.Client, actions []auth.Action, out []auth.Decision) error {
	lie, err := d.faults.do(ctx)
	for i, a := range actions {
		out[i] = d.decision(a.Operation, a.Name)
		if lie {
			out[i] = auth.Decision{Verdict: 77, CacheTTL: auth.MaxAllowTTL}
		}
	}
	return err
}

// AuthorizeByResourceType implements auth.Authorizer.
func (d *decider) AuthorizeByResourceType(ctx context.Context, _ *auth.Client, op auth.Operation, _ auth.ResourceType) (auth.Decision, error) {
	_, err := d.faults.do(ctx)
	return d.decision(op, ""), err
}

// Watch implements auth.Authorizer.
func (d *decider) Watch(ctx context.Context, send func(auth.Event) error) error {
	return d.policy.watch(ctx, d.faults, func(_ []string, epoch uint64) error { return send(auth.Event{Epoch: epoch}) })
}

// pusher is the authorizer that sends rules.
type pusher struct{ decider }

// Authorize implements auth.Authorizer: the same as the rules.
func (p *pusher) Authorize(ctx context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	lie, err := p.faults.do(ctx)
	m := auth.NewMatcher(rules(p.policy.refused()))
	for i, a := range actions {
		if out[i] = (auth.Decision{}); a.Operation <= auth.OpTwoPhaseCommit {
			out[i].Verdict = m.Decide(c, a.Operation, a.Resource, a.Name)
		}
		if lie {
			out[i].Verdict = 77
		}
	}
	return err
}

// Watch implements auth.Authorizer. A lie is an epoch that goes back and rules that
// no Kafka has.
func (p *pusher) Watch(ctx context.Context, send func(auth.Event) error) error {
	return p.policy.watch(ctx, p.faults, func(refused []string, epoch uint64) error {
		e := auth.Event{Epoch: epoch, Rules: rules(refused)}
		if lie, err := p.faults.do(ctx); err != nil {
			return err
		} else if lie {
			e.Epoch, e.Rules[0].Operation = 0, 99
		}
		return send(e)
	})
}

// keeper is the retention.
type keeper struct{ faults faultFile }

// Decide implements storage.Retention.
func (k keeper) Decide(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	lie, err := k.faults.do(ctx)
	var all []storage.Verdict
	for _, l := range logs {
		v := storage.Verdict{Topic: l.Topic, Partition: l.Partition, LeaderEpoch: l.LeaderEpoch,
			DeleteOldest: max(0, len(l.Segments)-2), Reason: "all but two"}
		if lie { // for another epoch, and all there is
			v.LeaderEpoch, v.DeleteOldest = v.LeaderEpoch+1, len(l.Segments)
		}
		all = append(all, v)
	}
	if large := k.faults.large(); large != "" {
		all = append(all, storage.Verdict{Reason: large})
	}
	return all, err
}
