package sdktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// caseTimeout bounds one case.
const caseTimeout = 60 * time.Second

// A check is one case: what must hold, where it can be decided, and how.
type check struct {
	name string
	says string
	ways []string    // nil: all
	kind plugin.Kind // empty: all
	// timed: it is about how fast something is. One that fails is tried again, timedTries
	// times in all, so that a machine that stood still does not condemn a plugin.
	timed bool
	run   func(ctx context.Context, b *bench) error
}

const timedTries = 3

// skipped says why a case can't be decided.
type skipped string

func (s skipped) Error() string { return string(s) }

// failed tells whether a case is decided, against the plugin.
func failed(err error) bool {
	var skip skipped
	return err != nil && !errors.As(err, &skip)
}

// checks are all cases, in the order in which they run.
func checks() []check {
	var all []check
	for _, some := range [][]check{
		launchChecks(), baseChecks(), robustChecks(),
		partitionerChecks(), authenticatorChecks(), authorizerChecks(), retentionChecks(),
	} {
		all = append(all, some...)
	}
	return all
}

// Check runs every case that is for the subject's kind and way, and says what became
// of it. It takes seconds: the deadline of ctx ends it early, and what did not run
// then fails.
func Check(ctx context.Context, s Subject) *Report {
	return checkWith(ctx, newBench(s), checks())
}

// checkWith runs those of the cases that are for the subject.
func checkWith(ctx context.Context, b *bench, cases []check) *Report {
	s := b.subject
	defer b.close()
	r := &Report{Way: s.Source.way, SHA256: s.Source.digest()}
	r.Plugin.Kind, r.Plugin.Name = s.Kind, s.Name
	for _, c := range cases {
		if !c.isFor(s) {
			continue
		}
		began := time.Now()
		err := b.decide(ctx, c)
		r.Cases = append(r.Cases, Case{Name: c.name, Says: c.says, Millis: time.Since(began).Milliseconds()}.ended(err))
		if c.name == answersCase && err != nil {
			b.mute = true
		}
	}
	if b.described.Name != "" {
		r.Plugin = b.described
	}
	return r
}

// isFor says whether the case is for the subject at all.
func (c check) isFor(s Subject) bool {
	if c.kind != "" && c.kind != s.Kind {
		return false
	}
	for _, way := range c.ways {
		if way == s.Source.way {
			return true
		}
	}
	return c.ways == nil
}

// ended is the case with its outcome.
func (c Case) ended(err error) Case {
	var skip skipped
	switch {
	case err == nil:
		c.Outcome = Pass
	case errors.As(err, &skip):
		c.Outcome, c.Why = Skip, err.Error()
	default:
		c.Outcome, c.Why = Fail, err.Error()
	}
	return c
}

// decide runs one case as often as it takes to know.
func (b *bench) decide(ctx context.Context, c check) error {
	err := b.run(ctx, c)
	for try := 1; c.timed && failed(err) && try < timedTries; try++ {
		err = b.run(ctx, c)
	}
	return err
}

// run runs one case, and puts away a target that is no good any more.
func (b *bench) run(ctx context.Context, c check) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("not run: %w", err)
	}
	if b.mute && needsAnswers(c) {
		return skipped("it answers no ordinary question")
	}
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	err := b.guarded(ctx, func() error { return c.run(ctx, b) })
	if failed(err) {
		b.discard()
	}
	return err
}
