package consensus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/core/kafka"
)

// Member is a node that keeps the control log.
type Member struct {
	ID      kafka.BrokerID
	Voter   bool
	Answers bool // the leader has heard of it within promoteAlive; only the leader knows
}

// Bounds of changes of the members.
const (
	promoteLag   = 64                    // entries that a new voter may be behind
	promoteAlive = 2 * time.Second       // since when it must have been heard of
	promoteLook  = 20 * time.Millisecond // between looks whether it is so far
)

// serverID is a node's name in raft.
func serverID(id kafka.BrokerID) raft.ServerID {
	return raft.ServerID(strconv.FormatInt(int64(id), 10))
}

// nodeOf is the node of a name in raft.
func nodeOf(id raft.ServerID) (kafka.BrokerID, error) {
	n, err := strconv.ParseInt(string(id), 10, 32)
	if err != nil || n < 0 {
		return kafka.NoBroker, fmt.Errorf("%q is no node id", id)
	}
	return kafka.BrokerID(n), nil
}

// serverID is this node's name in raft.
func (g *Group) serverID() raft.ServerID { return serverID(g.options.NodeID) }

// serverAddress is what raft writes down of this node.
func (g *Group) serverAddress() raft.ServerAddress {
	if g.options.Port == nil {
		return raft.ServerAddress(g.serverID())
	}
	return memberAddress(g.options.NodeID, g.options.Port.Advertised())
}

// memberAddress is how an address stands in raft's configuration: with the id, because
// raft wants no address twice, and nodes may change theirs.
func memberAddress(id kafka.BrokerID, address string) raft.ServerAddress {
	return raft.ServerAddress(string(serverID(id)) + "@" + address)
}

// isMember says whether a configuration names a node.
func isMember(c raft.Configuration, id raft.ServerID) bool {
	for _, s := range c.Servers {
		if s.ID == id {
			return true
		}
	}
	return false
}

// votesAlone says whether a node is the only voter of a configuration.
//
// Then everything in its log is decided, whatever the log's past: an entry that makes
// it the only voter counts from the moment it is written, and an entry that gives it
// company does so too. A leader's crash between writing a second voter down and
// telling it leaves a log that names two voters; such a log is not a lone voter's.
func votesAlone(c raft.Configuration, id raft.ServerID) bool {
	alone := false
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			if s.ID != id {
				return false
			}
			alone = true
		}
	}
	return alone
}

// addressIn is the address that a configuration has of a node.
func addressIn(c raft.Configuration, id raft.ServerID) (string, bool) {
	for _, s := range c.Servers {
		if _, address, ok := strings.Cut(string(s.Address), "@"); ok && s.ID == id {
			return address, true
		}
	}
	return "", false
}

// Members are the nodes that keep the control log, as this node knows them.
func (g *Group) Members() []Member {
	var all []Member
	leads := g.raft.State() == raft.Leader
	for _, s := range g.servers() {
		if id, err := nodeOf(s.ID); err == nil { // raft writes down no other
			answers := leads && (id == g.options.NodeID || time.Since(g.seat.of(s.ID).heard) < promoteAlive)
			all = append(all, Member{ID: id, Voter: s.Suffrage == raft.Voter, Answers: answers})
		}
	}
	return all
}

// servers are the members by raft's newest configuration.
func (g *Group) servers() []raft.Server { return g.raft.GetConfiguration().Configuration().Servers }

// AddNonvoter has a node get the control log from now on. A voter stays one. Only the
// leader can, as with the other changes of members; others say NOT_CONTROLLER.
func (g *Group) AddNonvoter(ctx context.Context, id kafka.BrokerID, address string) error {
	return g.change(ctx, func() raft.Future {
		return g.raft.AddNonvoter(serverID(id), memberAddress(id, address), 0, enqueueWait)
	})
}

// Promote gives a member a vote, once it has nearly everything that the leader has: a
// voter that is far behind would stop decisions as soon as another one failed.
func (g *Group) Promote(ctx context.Context, id kafka.BrokerID) error {
	for _, s := range g.servers() {
		if s.ID != serverID(id) {
			continue
		}
		if s.Suffrage == raft.Voter {
			return nil
		}
		if err := g.waitForFollower(ctx, s.ID); err != nil {
			return err
		}
		return g.change(ctx, func() raft.Future { return g.raft.AddVoter(s.ID, s.Address, 0, enqueueWait) })
	}
	return errNotJoined(id)
}

// waitForFollower waits until a member is alive and nearly caught up.
func (g *Group) waitForFollower(ctx context.Context, id raft.ServerID) error {
	for {
		if g.raft.State() != raft.Leader {
			return kafka.ErrNotController.Err("")
		}
		p := g.seat.of(id)
		if time.Since(p.heard) < promoteAlive && p.end+promoteLag >= g.raft.LastIndex() {
			return nil
		}
		select {
		case <-time.After(promoteLook):
		case <-g.quit:
			return kafka.ErrNotController.Err("")
		case <-ctx.Done():
			return kafka.ErrRequestTimedOut.Err(fmt.Sprintf("Node %s is at %d of %d and was heard of last at %v.", id, p.end, g.raft.LastIndex(), p.heard))
		}
	}
}

// Demote takes a member's vote. This node, when it leads, hands the leadership to
// another voter first and says NOT_CONTROLLER: a leader that votes itself out could
// leave the others without what it wrote last.
func (g *Group) Demote(ctx context.Context, id kafka.BrokerID) error {
	if err := g.stepAside(ctx, id); err != nil {
		return err
	}
	return g.change(ctx, func() raft.Future { return g.raft.DemoteVoter(serverID(id), 0, enqueueWait) })
}

// Remove has a node not get the control log any more. For this node it is as with
// Demote. A broker that is registered, perhaps since a moment, stays: it would not hear of
// anything, and not find the leader to say so.
func (g *Group) Remove(ctx context.Context, id kafka.BrokerID) error {
	if _, known := g.Image().Broker(id); known {
		return kafka.ErrInvalidRequest.Err(fmt.Sprintf("Broker %d is registered: it is unregistered before its node can be removed.", id))
	}
	if err := g.stepAside(ctx, id); err != nil {
		return err
	}
	return g.change(ctx, func() raft.Future { return g.raft.RemoveServer(serverID(id), 0, enqueueWait) })
}

// stepAside ends the leadership of this node if a change is about it.
func (g *Group) stepAside(ctx context.Context, id kafka.BrokerID) error {
	if id != g.options.NodeID || g.raft.State() != raft.Leader {
		return nil
	}
	if err := g.Resign(ctx); err != nil {
		return err
	}
	return kafka.ErrNotController.Err("")
}

// Resign hands the leadership to another voter, so that nobody has to notice that this
// node is gone. Without another voter it is an INVALID_REQUEST.
func (g *Group) Resign(ctx context.Context) error {
	err := forClient(g.await(ctx, g.raft.LeadershipTransfer))
	var refused *kafka.Error
	if err != nil && !errors.As(err, &refused) {
		return kafka.ErrInvalidRequest.Err("The leadership cannot be handed on: " + err.Error())
	}
	return err
}

// change waits for a change of the members.
func (g *Group) change(ctx context.Context, f func() raft.Future) error {
	err := g.await(ctx, f)
	if err != nil && strings.Contains(err.Error(), "at least one voter") {
		return errLastVoter()
	}
	return forClient(err)
}
