package consensus

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// Status is how the seat is at this moment, for people.
type Status struct {
	State        string // leader, follower, candidate, nonvoter
	Term         uint64
	LastIndex    uint64
	CommitIndex  uint64
	AppliedIndex uint64
	LastContact  time.Duration // since the leader was heard; 0: this node leads; -1: never
	Members      []Member
}

// Status tells how the seat is. It never blocks.
func (g *Group) Status() Status {
	s := Status{State: "follower", Term: g.raft.CurrentTerm(), LastIndex: g.raft.LastIndex(),
		CommitIndex: g.raft.CommitIndex(), AppliedIndex: g.machine.applied.Load(), LastContact: -1}
	s.Members = g.Members()
	votes := slices.ContainsFunc(s.Members, func(m Member) bool { return m.ID == g.options.NodeID && m.Voter })
	switch {
	case g.raft.State() == raft.Leader:
		s.State, s.LastContact = "leader", 0
		return s
	case !votes:
		s.State = "nonvoter"
	case g.raft.State() == raft.Candidate:
		s.State = "candidate"
	}
	if heard := g.raft.LastContact(); !heard.IsZero() {
		s.LastContact = time.Since(heard)
	}
	return s
}
