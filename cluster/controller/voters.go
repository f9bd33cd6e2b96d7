package controller

import (
	"cmp"
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// Member is a node that keeps the control log.
type Member struct {
	ID      kafka.BrokerID
	Voter   bool
	Answers bool // it takes what the leader sends it
}

// voters is what the leader knows of the members of the control plane.
type voters struct {
	members  []Member // by id
	absent   map[kafka.BrokerID]time.Time
	leaving  map[kafka.BrokerID]time.Time // unregistered while this node leads, and silent since
	strange  map[kafka.BrokerID]time.Time // not registered, and without an answer since
	changing bool
	at       time.Time // not before
}

func newVoters(now time.Time) voters {
	return voters{absent: map[kafka.BrokerID]time.Time{}, leaving: map[kafka.BrokerID]time.Time{}, strange: map[kafka.BrokerID]time.Time{}, at: now.Add(voterPause)}
}

// unregistered takes a broker that the cluster has forgotten.
func (v *voters) unregistered(now time.Time, id kafka.BrokerID) { v.leaving[id] = now }

// speaks takes a heartbeat of a broker that the cluster has forgotten: it lives, and is
// about to register again.
func (v *voters) speaks(id kafka.BrokerID) { delete(v.leaving, id) }

// left says whether a member was unregistered and is not there any more. A leader that
// has not seen that itself can't tell it from a node that joins and died before it
// registered, and needs not: that one asks to join again.
func (m *Machine) left(now time.Time, id kafka.BrokerID) bool {
	if since, ok := m.voters.leaving[id]; ok && now.Sub(since) >= 2*m.config.HeartbeatInterval {
		return true
	}
	since, ok := m.voters.strange[id]
	return ok && now.Sub(since) >= strangeMax
}

// stranger notes a member that is no broker and does not answer.
func (m *Machine) stranger(now time.Time, member Member) {
	_, known := m.voters.strange[member.ID]
	if m.sessions[member.ID] != nil || member.Answers || member.ID == m.config.Self {
		delete(m.voters.strange, member.ID)
	} else if !known {
		m.voters.strange[member.ID] = now
	}
}

// Members takes the members of the control plane.
func (m *Machine) Members(now time.Time, members []Member) {
	v := &m.voters
	v.members = slices.SortedFunc(slices.Values(members), func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	for id := range v.leaving {
		if m.sessions[id] != nil || !slices.ContainsFunc(members, func(member Member) bool { return member.ID == id }) {
			delete(v.leaving, id) // registered again, or gone
		}
	}
	for id := range v.absent {
		if !slices.ContainsFunc(members, func(member Member) bool { return member.ID == id }) {
			delete(v.absent, id)
		}
	}
	for id := range v.strange {
		if !slices.ContainsFunc(members, func(member Member) bool { return member.ID == id }) {
			delete(v.strange, id)
		}
	}
	for _, member := range members {
		m.stranger(now, member)
		if m.present(member.ID) {
			delete(v.absent, member.ID)
		} else if v.absent[member.ID].IsZero() {
			v.absent[member.ID] = now
		}
	}
}

// Changed ends a VoterChange.
func (m *Machine) Changed(now time.Time, c VoterChange, err error) {
	m.voters.changing, m.voters.at = false, now.Add(voterPause)
	if err != nil {
		m.voters.at = now.Add(voterRetry)
		return
	}
	for i := range m.voters.members {
		if member := &m.voters.members[i]; member.ID == c.ID {
			member.Voter = c.Kind == Promote
		}
	}
	if c.Kind == Remove {
		m.voters.members = slices.DeleteFunc(m.voters.members, func(member Member) bool { return member.ID == c.ID })
		delete(m.voters.leaving, c.ID)
		delete(m.voters.strange, c.ID)
	}
	if m.halfway() {
		m.voters.at = now
		m.chooseVoters(now)
	}
}

// halfway says that the number of voters is even: two of two must live, no better than
// one of one and worse than two of three. The next change must not wait.
func (m *Machine) halfway() bool {
	n := 0
	for _, member := range m.voters.members {
		if member.Voter {
			n++
		}
	}
	return n%2 == 0
}

// present says whether a member takes part: this node, or a broker in service.
func (m *Machine) present(id kafka.BrokerID) bool {
	if id == m.config.Self {
		return true
	}
	b, ok := m.image.Broker(id)
	return ok && !b.Fenced
}

// chooseVoters begins one change of the voters if one is due.
func (m *Machine) chooseVoters(now time.Time) {
	v := &m.voters
	if v.changing || now.Before(v.at) || len(v.members) == 0 {
		return
	}
	if c, ok := m.nextChange(now); ok {
		v.changing = true
		m.actions = append(m.actions, c)
	}
}

// poll is the members by what they are good for.
type poll struct {
	voters     []kafka.BrokerID
	alive      int              // voters that take part
	absent     []kafka.BrokerID // voters that don't take part
	dead       []kafka.BrokerID // of them, those that are gone for good or for long
	candidates []kafka.BrokerID // members that could get a vote
}

// poll sorts the members.
func (m *Machine) poll(now time.Time) (p poll) {
	for _, member := range m.voters.members {
		id := member.ID
		left := m.left(now, id)
		here := m.present(id) && !left
		switch {
		case member.Voter:
			p.voters = append(p.voters, id)
			if here {
				p.alive++
				continue
			}
			p.absent = append(p.absent, id)
			if since := m.voters.absent[id]; left || !since.IsZero() && now.Sub(since) >= m.config.VoterReplaceAfter {
				p.dead = append(p.dead, id)
			}
		case here && m.upToDate(id):
			p.candidates = append(p.candidates, id)
		}
	}
	return p
}

// upToDate says whether a member is so far in the control log that its vote would not
// hold up decisions, and wants to stay.
func (m *Machine) upToDate(id kafka.BrokerID) bool {
	s := m.sessions[id]
	b, ok := m.image.Broker(id)
	return ok && s != nil && s.heard && b.Active() && s.applied+promoteLag >= m.image.Index
}

// wanted is how many voters there should be.
func (m *Machine) wanted() int {
	most := m.config.Voters
	if most == 0 {
		most = 5
	}
	return min(most, odd(len(m.sessions)))
}

// odd is the largest odd number that is not above n, at least 1.
func odd(n int) int { return max(n-(n+1)%2, 1) }

// nextChange is the change that the members need most. Every change leaves more than
// half of the voters after it alive, or it would never be agreed on.
func (m *Machine) nextChange(now time.Time) (VoterChange, bool) {
	p := m.poll(now)
	n := len(p.voters)
	agreed := func(alive, voters int) bool { return alive >= voters/2+1 }
	// The number is odd, and not more than the members can fill.
	target := min(m.wanted(), odd(n+len(p.candidates)))
	switch {
	case len(p.dead) > 0 && (n > target || n-1+len(p.candidates) >= target) && agreed(p.alive, n-1):
		return VoterChange{Demote, p.dead[0]}, true
	case n > target && len(p.absent) > 0 && agreed(p.alive, n-1):
		// Rather than one that is there: another may have died a moment ago.
		return VoterChange{Demote, p.absent[0]}, true
	case n < target && agreed(p.alive+1, n+1):
		return VoterChange{Promote, m.bestCandidate(p)}, true
	case n > target && agreed(p.alive-1, n-1):
		if id := m.worstVoter(p); id != kafka.NoBroker {
			return VoterChange{Demote, id}, true
		}
	case n == target && p.alive == n && len(p.candidates) > 0:
		if id := m.redundant(p); id != kafka.NoBroker && agreed(p.alive-1, n-1) {
			return VoterChange{Demote, id}, true
		}
	}
	for _, member := range m.voters.members {
		if m.left(now, member.ID) && !member.Voter && member.ID != m.config.Self {
			return VoterChange{Remove, member.ID}, true
		}
	}
	return VoterChange{}, false
}
