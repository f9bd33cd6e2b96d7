package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// How long each step of a generation's life may take.
const (
	launchMax    = 10 * time.Second // exec to handshake
	describeMax  = 2 * time.Second
	validateMax  = 2 * time.Second
	configureMax = 10 * time.Second
	rulesMax     = 5 * time.Second // to take all rules
	canaryMax    = 2 * time.Second // of the first question: a plugin may be cold
	healthMax    = 2 * time.Second
	drainExtra   = 5 * time.Second // beyond the deadline of a call
	drainMax     = 2 * time.Second // of the plugin's own Drain
	stopMax      = 5 * time.Second
)

// start brings up a generation that could serve: launched, described, validated,
// configured, with rules, canary answered. On an error nothing is left of it.
func (s *slot) start(ctx context.Context, spec *Spec, before *generation) (*generation, error) {
	number := s.number.Add(1)
	process, err := s.host.launchKept(ctx, spec, s.logger(number))
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	g := &generation{number: number, spec: spec, process: process}
	g.prepare()
	if err := s.bringUp(ctx, g, before); err != nil {
		select {
		case <-process.Done():
			err = fmt.Errorf("%w (the process ended: %v)", err, process.ExitError())
		default:
		}
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMax)
		defer cancel()
		return nil, errors.Join(err, g.stop(stop, true))
	}
	g.since = s.host.o.Clock.Now()
	return g, nil
}

// step is one of those between a process and a generation that could serve.
type step struct {
	name string
	max  time.Duration
	do   func(ctx context.Context) error
}

// looks are the steps that change nothing: is it what the entry says, does it take
// its config?
func (g *generation) looks() []step {
	return []step{
		{"describe", describeMax, g.describe},
		{"validate", validateMax, func(ctx context.Context) error {
			return guarded(ctx, func() error {
				return g.process.Validate(ctx, g.spec.Kind, g.spec.asked(), g.spec.config())
			})
		}},
	}
}

// bringUp takes all steps.
func (s *slot) bringUp(ctx context.Context, g *generation, before *generation) error {
	return take(ctx, append(g.looks(),
		step{"configure", configureMax, func(ctx context.Context) error { return s.configure(ctx, g) }},
		step{"rules", rulesMax, func(ctx context.Context) error { return s.push(ctx, g) }},
		step{"canary", g.spec.firstAnswer(), func(ctx context.Context) error { return s.canary(ctx, g, before) }}))
}

// take takes steps until one fails.
func take(ctx context.Context, steps []step) error {
	for _, step := range steps {
		ctx, cancel := context.WithTimeout(ctx, step.max)
		err := step.do(ctx)
		cancel()
		switch {
		case err == nil:
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("%s: no answer within %v: %w", step.name, step.max, ErrTimeout)
		case errors.Is(err, plugin.ErrConfig), errors.Is(err, plugin.ErrUnsupported):
			return fmt.Errorf("%s: %w: %w", step.name, ErrRefused, err)
		default:
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// describe holds what the plugin says it is to its entry.
func (g *generation) describe(ctx context.Context) error {
	all, err := g.process.Describe(ctx)
	if err != nil {
		return err
	}
	name := g.spec.asked()
	for _, d := range all {
		if d.Kind != g.spec.Kind || d.Name != name {
			continue
		}
		if g.spec.Version != "" && d.Version != g.spec.Version {
			return fmt.Errorf("%w: it says version %q, the entry %q", ErrRefused, d.Version, g.spec.Version)
		}
		g.about = d
		return nil
	}
	return fmt.Errorf("%w: the binary has no %s %q but %s", ErrRefused, g.spec.Kind, name, names(all))
}

// names lists plugins for people.
func names(all []plugin.Description) string {
	if len(all) == 0 {
		return "nothing"
	}
	text := ""
	for i, d := range all {
		if i > 0 {
			text += ", "
		}
		text += string(d.Kind) + "/" + d.Name
	}
	return text
}

// configure makes the instance and takes its contract.
func (s *slot) configure(ctx context.Context, g *generation) error {
	c := plugin.Config{
		JSON: g.spec.config(), Instance: s.name, ClusterID: s.host.o.ClusterID, BrokerID: s.host.o.BrokerID,
		Log: slog.New(slog.NewTextHandler(lineWriter(s.logger(g.number)), nil)), // a process has its own
	}
	instance, err := await(ctx, func() (*host.Instance, error) {
		return g.process.Configure(ctx, g.spec.Kind, g.spec.asked(), c)
	}, func(late *host.Instance) { _ = late.Drain(context.WithoutCancel(ctx)) })
	if err != nil {
		return err
	}
	g.instance = instance
	return g.adopt(g.spec.Builtin != "")
}

// adopt takes the contract of the instance, behind a guard if it is compiled in.
func (g *generation) adopt(builtin bool) error {
	if builtin {
		g.guard = newGuard(g.spec.concurrency())
	}
	var err error
	switch g.spec.Kind {
	case plugin.Partitioner:
		g.partitioner, err = g.instance.Partitioner()
		g.direct = builtin
	case plugin.Authenticator:
		g.authenticator, err = guardIf(g, g.instance.Authenticator, func(a auth.Authenticator) auth.Authenticator {
			return guardedAuthenticator{g.guard, a}
		})
	case plugin.Authorizer:
		return g.adoptAuthorizer()
	case plugin.Retention:
		g.retention, err = guardIf(g, g.instance.Retention, func(r storage.Retention) storage.Retention {
			return guardedRetention{g.guard, r}
		})
	}
	return err
}

// adoptAuthorizer also looks whether it takes rules, as its features say.
func (g *generation) adoptAuthorizer() error {
	a, err := g.instance.Authorizer()
	if err != nil {
		return err
	}
	g.authorizer = a
	if g.guard != nil {
		g.authorizer = guardedAuthorizer{g.guard, a}
	}
	if !g.about.Has(auth.FeatureStore) {
		return nil
	}
	taker, ok := a.(auth.RuleTaker)
	if !ok {
		return fmt.Errorf("%w: it has the feature %q but takes no rules", ErrBadAnswer, auth.FeatureStore)
	}
	g.rules = taker
	if g.guard != nil {
		g.rules = guardedRules{g.guard, taker}
	}
	return nil
}

// guardIf is the contract, wrapped if the generation has a guard.
func guardIf[T any](g *generation, contract func() (T, error), wrap func(T) T) (T, error) {
	c, err := contract()
	if err == nil && g.guard != nil {
		c = wrap(c)
	}
	return c, err
}

// permanent says whether trying again is of no use.
func permanent(err error) bool { return errors.Is(err, ErrRefused) || errors.Is(err, ErrSpec) }

var (
	_ partitioner.Partitioner = (*Partitioner)(nil)
	_ Process                 = resident{}
)
