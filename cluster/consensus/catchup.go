package consensus

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
)

// CatchUp brings the image up to everything that was decided before the call. A member
// that finds no leader asks to be let in meanwhile, because it may have been removed,
// or nobody may know where it is now. The error says that this node may not take part,
// or that ctx ended.
func (g *Group) CatchUp(ctx context.Context) error {
	ask := time.Now().Add(joinAfter)
	say := ask
	var last error = errNobodyLeads
	for {
		if leader, mine := g.Leader(); mine {
			if last = g.awaitLeadership(ctx); last == nil {
				return nil
			}
		} else if leader != kafka.NoBroker {
			if last = g.catchUpWith(ctx, leader); last == nil {
				return nil
			}
		}
		if isFinal(last) {
			return last
		}
		if time.Now().After(say) {
			g.options.Log.Info("control: waiting for the control plane", "error", last)
			say = time.Now().Add(sayAgain)
		}
		if g.options.Port != nil && time.Now().After(ask) && len(g.doors()) > 0 {
			if err := g.askToJoin(ctx, false); isFinal(err) {
				return err
			} else if err != nil {
				last = err
			}
			ask = time.Now().Add(joinAfter)
		}
		select {
		case <-time.After(leaderLook):
		case <-g.quit:
			return kafka.ErrNotController.Err("")
		case <-ctx.Done():
			return fmt.Errorf("the control plane is not reached: %w", last)
		}
	}
}

// sayAgain is how often a node that waits for others says so.
const sayAgain = 30 * time.Second

// awaitLeadership is how a leader catches up: with the entry that begins its term.
func (g *Group) awaitLeadership(ctx context.Context) error {
	if g.Leads() {
		return g.await(ctx, func() raft.Future { return g.raft.Barrier(enqueueWait) })
	}
	return errNobodyLeads
}

// catchUpWith asks a leader how far it is and waits for the image to be there. The
// leader finds out on the way whether this node is another one of its id.
func (g *Group) catchUpWith(ctx context.Context, leader kafka.BrokerID) error {
	short, stop := context.WithTimeout(ctx, catchUpCall)
	defer stop()
	if err := g.introduce(short, leader); err != nil {
		return err
	}
	b, err := g.Call(short, leader, peer.KindCommitted, nil)
	if err != nil {
		return err
	}
	return g.reach(ctx, b)
}

// reach waits for the image that a leader named in answer to KindCommitted.
func (g *Group) reach(ctx context.Context, b []byte) error {
	if len(b) != 8 {
		return fmt.Errorf("the leader answered with %d bytes, want 8", len(b))
	}
	return g.machine.waitFor(ctx, g.quit, binary.BigEndian.Uint64(b))
}

// Refresh implements meta.Control. What anybody was told is in the image of the leader,
// who may have been replaced without knowing it yet.
func (g *Group) Refresh(ctx context.Context) error {
	if g.Leads() && g.await(ctx, g.verify) == nil {
		return nil
	}
	b, err := g.CallLeader(ctx, peer.KindCommitted, nil)
	if err != nil {
		return err
	}
	return g.reach(ctx, b)
}

// catchUpCall bounds a call for the leader's place.
const catchUpCall = 3 * time.Second

// answerCommitted says what the image must have to be that of a leader, after making
// sure that this node is one.
func (g *Group) answerCommitted(ctx context.Context, _ []byte) ([]byte, error) {
	if !g.Leads() {
		return nil, kafka.ErrNotController.Err("")
	}
	if err := g.await(ctx, g.verify); err != nil {
		return nil, forClient(err)
	}
	return binary.BigEndian.AppendUint64(nil, g.Image().Index), nil
}

// verify asks a majority whether this node leads.
func (g *Group) verify() raft.Future { return g.raft.VerifyLeader() }
