package consensus

import (
	"context"
	"fmt"

	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
)

// voterRequest asks the leader to give a member a vote, or to take it.
type voterRequest struct {
	ID     kafka.BrokerID `cbor:"1,keyasint"`
	Remove bool           `cbor:"2,keyasint,omitempty"`
}

// AddVoter implements meta.Control.
func (g *Group) AddVoter(ctx context.Context, id kafka.BrokerID) error {
	return g.askForVoter(ctx, voterRequest{ID: id})
}

// RemoveVoter implements meta.Control. The node stays a member without a vote.
func (g *Group) RemoveVoter(ctx context.Context, id kafka.BrokerID) error {
	return g.askForVoter(ctx, voterRequest{ID: id, Remove: true})
}

// askForVoter has the leader change the voters.
func (g *Group) askForVoter(ctx context.Context, q voterRequest) error {
	if g.options.Port == nil {
		return kafka.ErrUnsupportedVersion.Err("This node has no way to other nodes, and votes alone.")
	}
	body, err := encode(&q)
	if err != nil {
		return err
	}
	_, err = g.CallLeader(ctx, peer.KindMembers, body)
	if principal := askedFor(ctx); err == nil && principal != "" {
		g.options.Log.Info("control: the voters were changed", "node", q.ID, "votes", !q.Remove, "principal", principal)
	}
	return err
}

// answerVoter is askForVoter's other side.
func (g *Group) answerVoter(ctx context.Context, body []byte) ([]byte, error) {
	var q voterRequest
	if err := decode(body, &q); err != nil {
		return nil, kafka.ErrInvalidRequest.Err(err.Error())
	}
	if !g.Leads() {
		return nil, kafka.ErrNotController.Err("")
	}
	joined, votes, voters := false, false, 0
	for _, m := range g.Members() {
		if m.ID == q.ID {
			joined, votes = true, m.Voter
		}
		if m.Voter {
			voters++
		}
	}
	switch {
	case q.Remove && !votes:
		return nil, kafka.ErrVoterNotFound.Err(fmt.Sprintf("Node %d has no vote.", q.ID))
	case q.Remove && voters == 1:
		return nil, errLastVoter()
	case q.Remove:
		return nil, g.Demote(ctx, q.ID)
	case votes:
		return nil, kafka.ErrDuplicateVoter.Err(fmt.Sprintf("Node %d has a vote already.", q.ID))
	case !joined:
		return nil, errNotJoined(q.ID)
	}
	return nil, g.Promote(ctx, q.ID)
}

// errLastVoter refuses to leave nobody to decide.
func errLastVoter() *kafka.Error {
	return kafka.ErrInvalidRequest.Err("The last voter cannot lose its vote.")
}

// errNotJoined refuses a vote for a node that is not there.
func errNotJoined(id kafka.BrokerID) *kafka.Error {
	return kafka.ErrInvalidRequest.Err(fmt.Sprintf("Node %d has not joined the cluster.", id))
}
