package controller

import (
	"strconv"

	"github.com/mortisemq/mortise/core/kafka"
)

// rack is the rack of a node; nodes without one are each on their own.
func (m *Machine) rack(id kafka.BrokerID) string {
	if b, ok := m.image.Broker(id); ok && b.Rack != "" {
		return b.Rack
	}
	return "\x00" + strconv.Itoa(int(id)) // no rack has this name
}

// perRack counts the voters on each rack.
func (m *Machine) perRack(voters []kafka.BrokerID) map[string]int {
	count := map[string]int{}
	for _, id := range voters {
		count[m.rack(id)]++
	}
	return count
}

// bestCandidate is the candidate on the rack with the fewest voters, of those the one
// with the lowest id.
func (m *Machine) bestCandidate(p poll) kafka.BrokerID {
	count, best := m.perRack(p.voters), p.candidates[0]
	for _, id := range p.candidates {
		if count[m.rack(id)] < count[m.rack(best)] {
			best = id
		}
	}
	return best
}

// worstVoter is the voter on the rack with the most, of those the one with the highest
// id, and never this node: it could not see the change through. NoBroker: none.
func (m *Machine) worstVoter(p poll) kafka.BrokerID {
	count, worst := m.perRack(p.voters), kafka.NoBroker
	for _, id := range p.voters {
		if id != m.config.Self && (worst == kafka.NoBroker || count[m.rack(id)] >= count[m.rack(worst)]) {
			worst = id
		}
	}
	return worst
}

// redundant is a voter that shares its rack with another while a candidate is on a rack
// without one: its vote goes there. NoBroker: the racks are as even as they can be.
func (m *Machine) redundant(p poll) kafka.BrokerID {
	count := m.perRack(p.voters)
	worst := m.worstVoter(p)
	if worst != kafka.NoBroker && count[m.rack(worst)] > 1 && count[m.rack(m.bestCandidate(p))] == 0 {
		return worst
	}
	return kafka.NoBroker
}
