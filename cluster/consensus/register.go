package consensus

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// registerWait is how long a registration may take to be decided and to be seen here,
// before this node asks whether it still is a member.
const registerWait = 10 * time.Second

// RegisterBroker implements meta.Registrar. When it is not known what became of it, it
// is done again: the later registration replaces the one before, and both have the same
// Attempt, so that it does not count as one that somebody else came between.
//
// A member that is no broker yet may be removed while it reads its logs. It hears of
// nothing then, not even of its registration: it is let in again first.
func (g *Group) RegisterBroker(ctx context.Context, b meta.Registration) (kafka.BrokerEpoch, error) {
	c := &metadata.RegisterBroker{ID: b.ID, Rack: b.Rack, LogDirs: b.LogDirs,
		CleanShutdown: b.CleanShutdown, ProducerIDs: b.ProducerIDs, Peer: b.Peer, PreviousEpoch: b.PreviousEpoch,
		MinISR: b.MinISR, Unclean: b.Unclean, Attempt: b.Attempt}
	if c.Attempt == 0 {
		c.Attempt = rand.Uint64()
	}
	for _, p := range b.Missing {
		c.Missing = append(c.Missing, metadata.PartitionID(p))
	}
	for _, l := range b.LaterEpochs {
		c.LaterEpochs = append(c.LaterEpochs, metadata.LogEpoch(l))
	}
	for _, e := range b.Endpoints {
		c.Endpoints = append(c.Endpoints, metadata.Endpoint(e))
	}
	for {
		r, err := g.registerOnce(ctx, c)
		late, lost := errors.Is(err, kafka.ErrRequestTimedOut.Err("")), errors.Is(err, kafka.ErrNotController.Err(""))
		if ctx.Err() != nil || !late && !lost || lost && g.options.Port == nil {
			return r.BrokerEpoch, err
		}
		if g.options.Port == nil {
			continue // nobody can have removed it: its disk is slow
		}
		g.options.Log.Warn("control: nothing is heard of this broker's registration: looking for the leader, who lets this node in if it was removed", "error", err)
		if err := g.CatchUp(ctx); err != nil {
			return r.BrokerEpoch, err
		}
	}
}

// registerOnce waits for one registration, but not for good.
func (g *Group) registerOnce(ctx context.Context, c *metadata.RegisterBroker) (metadata.Result, error) {
	ctx, stop := context.WithTimeout(ctx, registerWait)
	defer stop()
	return g.propose(ctx, c)
}
