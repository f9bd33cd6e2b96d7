package consensus

import (
	"time"

	"github.com/hashicorp/raft"
)

// tell has the other members hear at once what was decided, while this node leads. raft
// lets them know with its next entry, or after its commit timeout: so long a decision
// that was forwarded would wait for its image, and a broker for the news that it leads.
//
// What is sent is what raft itself would send: an entry that is decided, by its index
// and term, and no entry after it. Who does not have it yet says no, and nothing else
// happens.
//
// Cost: one small exchange with each member for what was decided since the last one.
func (g *Group) tell() {
	defer g.running.Done()
	for {
		select {
		case <-g.quit:
			return
		case <-g.machine.decided:
		}
		if !g.leads.Load() {
			continue
		}
		for _, s := range g.servers() {
			if s.ID == g.serverID() || !g.seat.startTelling(s.ID) {
				continue
			}
			if !g.enter() {
				return
			}
			go func() {
				defer g.running.Done()
				g.tellOne(s)
			}()
		}
	}
}

// A member may be told before it has the entry itself: the others were enough to decide.
const (
	tellPause    = 2 * time.Millisecond // until it is told again
	tellTriesMax = 50                   // then it is far behind, and raft sees to it
)

// tellOne tells one member until it knows the newest.
func (g *Group) tellOne(s raft.Server) {
	told, tries := uint64(0), 0
	for {
		q, ok := g.news()
		if !ok || q.LeaderCommitIndex == told {
			if g.seat.endTelling(s.ID) {
				return
			}
			continue // there was news in between
		}
		var a raft.AppendEntriesResponse
		if err := g.seat.transport.AppendEntries(s.ID, s.Address, q, &a); err != nil {
			g.seat.dropTelling(s.ID) // raft notices as well, and goes on trying
			return
		}
		if a.Success {
			told, tries = q.LeaderCommitIndex, 0
			continue
		}
		tries++
		select {
		case <-g.quit:
			tries = tellTriesMax
		case <-time.After(tellPause):
		}
		if tries >= tellTriesMax {
			g.seat.dropTelling(s.ID)
			return
		}
	}
}

// news is what a leader tells; false: this node is none.
//
// The term must be one in which this node leads. raft gives the leadership up before it
// takes a new term on, so a leader that has the same term before and after was the
// leader of that term.
func (g *Group) news() (*raft.AppendEntriesRequest, bool) {
	term := g.raft.CurrentTerm()
	if g.raft.State() != raft.Leader || g.raft.CurrentTerm() != term {
		return nil, false
	}
	index := g.raft.CommitIndex()
	var entry raft.Log
	if err := g.store.logs.GetLog(index, &entry); err != nil { // a snapshot took its place
		return nil, false
	}
	self := []byte(g.serverID())
	return &raft.AppendEntriesRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: self, Addr: self},
		Term:      term, PrevLogEntry: index, PrevLogTerm: entry.Term, LeaderCommitIndex: index,
	}, true
}

// telling is whether a member is being told something.
type telling struct {
	now   bool
	again bool // there is more to tell
}

// startTelling says whether a member shall be told now: it answers, and nobody is at it.
// Who is at it will look again.
func (s *seat) startTelling(id raft.ServerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.told[id]
	if s.down[id] != nil || time.Since(s.progress[id].heard) > heartbeatTimeout {
		return false
	}
	if t.now {
		t.again = true
		s.told[id] = t
		return false
	}
	s.told[id] = telling{now: true}
	return true
}

// dropTelling gives up on a member.
func (s *seat) dropTelling(id raft.ServerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.told, id)
}

// endTelling says whether there is nothing more to tell a member.
func (s *seat) endTelling(id raft.ServerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[id].again {
		s.told[id] = telling{now: true}
		return false
	}
	delete(s.told, id)
	return true
}
