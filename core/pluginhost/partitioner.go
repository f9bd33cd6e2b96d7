package pluginhost

import (
	"context"
	"fmt"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Partitioner is the handle of a partitioner: whoever is in service under its name
// answers, checked. Keyed records of a question without an answer must be refused
// with a retriable error, never sent elsewhere; for null keys the asker may choose.
// It is safe for concurrent use.
type Partitioner struct{ handle }

// Partitioner gives the handle of a name; false: the catalogue has no such
// partitioner now. The handle is good anyway, and follows what the catalogue says
// later.
func (h *Host) Partitioner(name string) (*Partitioner, bool) {
	p := &Partitioner{handle{h, name, plugin.Partitioner}}
	return p, p.slot() != nil
}

// Assign implements partitioner.Partitioner. Hot for a compiled-in partitioner: per
// batch, no allocation, no goroutine, no deadline beyond the caller's.
func (p *Partitioner) Assign(ctx context.Context, r *partitioner.Request, out []int32) error {
	if len(out) != len(r.Keys) || len(r.Keys) > partitioner.MaxKeys || r.Partitions < 1 {
		return fmt.Errorf("partitioner %s asked for %d of %d keys over %d partitions: at most %d keys, at least 1 partition",
			p.name, len(out), len(r.Keys), r.Partitions, partitioner.MaxKeys)
	}
	s := p.slot()
	if s == nil {
		return p.missing()
	}
	for g := s.current.Load(); g != nil && g.direct; g = s.current.Load() {
		if g.enter() {
			return s.assignDirect(ctx, g, r, out)
		}
	}
	return s.call(ctx, func(ctx context.Context, g *generation) error { return g.assign(ctx, r, out) })
}

// assignDirect asks a compiled-in partitioner, which the call has entered.
func (s *slot) assignDirect(ctx context.Context, g *generation, r *partitioner.Request, out []int32) error {
	defer g.exit()
	s.m.calls.Add(1)
	g.calls.Add(1)
	if !g.breaker.allows() {
		g.failures.Add(1)
		return s.fail(causeBreaker, nil)
	}
	begin := s.host.o.Clock.Now()
	err := g.assign(ctx, r, out)
	s.m.seconds.Observe(s.host.o.Clock.Now().Sub(begin).Seconds())
	c := causeOf(ctx, ctx, err)
	s.note(g, c)
	if c != causeNone {
		return s.fail(c, err)
	}
	return err
}

// assign asks the generation and checks the answer. A panic is an error.
func (g *generation) assign(ctx context.Context, r *partitioner.Request, out []int32) (err error) {
	for i := range out {
		out[i] = unanswered
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", plugin.ErrPanicked, p)
		}
	}()
	if err := g.partitioner.Assign(ctx, r, out); err != nil {
		return err
	}
	return checkPartitions(r, out)
}
