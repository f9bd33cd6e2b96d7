package meta

import (
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Election says who may lead when a partition changes.
type Election int8

// The elections.
const (
	// ElectOnline keeps the leader that there is, if it may lead, else takes the first
	// replica that is in sync.
	ElectOnline Election = iota
	// ElectPreferred takes the first replica of the list, if that is in sync.
	ElectPreferred
	// ElectUnclean takes any replica that is alive when none in sync is, which loses
	// records.
	ElectUnclean
)

// PartitionChange is what shall become of a partition, and what its next state
// depends on. Nil lists stay as they are.
type PartitionChange struct {
	ISR, Replicas, Adding, Removing []kafka.BrokerID

	Election Election
	// Alive says who may be elected.
	Alive func(kafka.BrokerID) bool
	// Leaving says who is in controlled shutdown: it may lead on, but only what nobody
	// else can lead.
	Leaving func(kafka.BrokerID) bool
	// Full says whose log directories have no room; nil: nobody's. Who has room is elected
	// first, and the preferred leader does not take over from one that has.
	Full   func(kafka.BrokerID) bool
	MinISR int // min.insync.replicas
	// Lost are replicas that may have lost records: they are not eligible any more.
	Lost []kafka.BrokerID
	// Recovered says that the leader has done what an unclean election asks of it.
	Recovered bool
	// LeaderEpoch is the least leader epoch afterwards; 0: as the change asks.
	LeaderEpoch kafka.LeaderEpoch
}

// Next is the state of the partition after a change, and whether there is any. It
// is the only place where the rules are:
//
//   - A reassignment ends as soon as every replica of its target is in sync.
//   - Below min.insync.replicas, who leaves the ISR stays eligible (ELR, KIP-966): the
//     high watermark stands still then, so it has every record that was acknowledged.
//   - The leader is elected in this order: as the election asks; the present one; the
//     first replica in sync, or, when none is in the ISR, the first that is eligible;
//     the last known leader; with ElectUnclean the first that is alive; nobody. The
//     first is one that has room on its disks, if there is such a one.
//   - The leader epoch rises when the leader changes and when a replica goes, not when
//     the ISR shrinks (KAFKA-15021). The partition epoch rises with every change.
//
// The receiver stays as it is; the next state shares its unchanged lists.
func (p *Partition) Next(c *PartitionChange) (next Partition, changed bool) {
	next = *p
	replace(&next.ISR, c.ISR)
	replace(&next.Replicas, c.Replicas)
	replace(&next.Adding, c.Adding)
	replace(&next.Removing, c.Removing)
	next.Recovering = p.Recovering && !c.Recovered
	next.completeReassignment()
	next.ELR = next.eligible(p, c)
	next.elect(p, c)
	next.LeaderEpoch = max(p.LeaderEpoch, c.LeaderEpoch)
	if next.LeaderEpoch == p.LeaderEpoch && (next.Leader != p.Leader || !containsAll(next.Replicas, p.Replicas)) {
		next.LeaderEpoch++
	}
	if next.equal(p) {
		return *p, false
	}
	next.PartitionEpoch++
	return next, true
}

// replace sets a list unless there is none to set.
func replace(list *[]kafka.BrokerID, to []kafka.BrokerID) {
	if to != nil {
		*list = to
	}
}

// completeReassignment ends a reassignment whose target is in sync.
func (p *Partition) completeReassignment() {
	if len(p.Adding) == 0 && len(p.Removing) == 0 {
		return
	}
	isr, replicas := without(p.ISR, p.Removing...), without(p.Replicas, p.Removing...)
	if len(isr) == 0 || len(replicas) == 0 || !containsAll(isr, replicas) {
		return
	}
	p.ISR, p.Replicas, p.Adding, p.Removing = isr, replicas, nil, nil
}

// eligible is the ELR that the partition has next, in the order of ids.
func (p *Partition) eligible(old *Partition, c *PartitionChange) []kafka.BrokerID {
	if p.enough(c) {
		return nil
	}
	var elr []kafka.BrokerID
	for _, list := range [...][]kafka.BrokerID{old.ELR, old.ISR} {
		for _, id := range list {
			if !slices.Contains(p.ISR, id) && !slices.Contains(c.Lost, id) &&
				slices.Contains(p.Replicas, id) && !slices.Contains(elr, id) {
				elr = append(elr, id)
			}
		}
	}
	slices.Sort(elr)
	return elr
}

// enough says whether the ISR suffices for the high watermark to move.
func (p *Partition) enough(c *PartitionChange) bool {
	return len(p.ISR) >= min(c.MinISR, len(p.Replicas))
}

// elect gives the partition its next leader, and what follows from the choice.
func (p *Partition) elect(old *Partition, c *PartitionChange) {
	leader, unclean := p.choose(old, c)
	p.Leader = leader
	switch {
	case leader == kafka.NoBroker:
		if len(p.ISR) == 0 && old.Leader != kafka.NoBroker {
			p.LastKnownLeader = old.Leader
		}
		return
	case unclean:
		p.ISR, p.ELR = []kafka.BrokerID{leader}, nil
		p.Recovering = len(p.Replicas) > 1
	case !slices.Contains(p.ISR, leader):
		p.ISR, p.ELR = []kafka.BrokerID{leader}, without(p.ELR, leader)
		if p.enough(c) { // min.insync.replicas went down meanwhile: it may acknowledge alone
			p.ELR = nil
		}
	}
	p.LastKnownLeader = kafka.NoBroker
}

// choose elects; unclean says that records may be lost by it.
func (p *Partition) choose(old *Partition, c *PartitionChange) (leader kafka.BrokerID, unclean bool) {
	inSync := p.ISR
	if len(inSync) == 0 {
		inSync = p.ELR
	}
	valid := func(id kafka.BrokerID) bool { return slices.Contains(inSync, id) && c.Alive(id) }
	stays := valid(old.Leader) || c.Leaving != nil && slices.Contains(p.ISR, old.Leader) && c.Leaving(old.Leader)
	preferred := p.Replicas[0]
	if c.Election == ElectPreferred && valid(preferred) && (c.room(preferred) || !c.room(old.Leader)) {
		return preferred, false
	}
	if stays {
		return old.Leader, false
	}
	if first := p.first(c, valid); first != kafka.NoBroker {
		return first, false
	}
	if last := old.LastKnownLeader; len(inSync) == 0 && slices.Contains(p.Replicas, last) && c.Alive(last) {
		return last, true
	}
	if c.Election == ElectUnclean {
		if first := p.first(c, c.Alive); first != kafka.NoBroker {
			return first, true
		}
	}
	return kafka.NoBroker, false
}

// first is the first replica that may lead, with room if there is one; NoBroker: none may.
func (p *Partition) first(c *PartitionChange, may func(kafka.BrokerID) bool) kafka.BrokerID {
	found := kafka.NoBroker
	for _, id := range p.Replicas {
		if !may(id) {
			continue
		}
		if c.room(id) {
			return id
		}
		if found == kafka.NoBroker {
			found = id
		}
	}
	return found
}

// room says whether a broker has room, as far as is known.
func (c *PartitionChange) room(id kafka.BrokerID) bool { return c.Full == nil || !c.Full(id) }

// equal compares all but the partition epoch.
func (p *Partition) equal(o *Partition) bool {
	return p.Leader == o.Leader && p.LeaderEpoch == o.LeaderEpoch && p.LastKnownLeader == o.LastKnownLeader &&
		p.Recovering == o.Recovering && slices.Equal(p.ISR, o.ISR) && slices.Equal(p.Replicas, o.Replicas) &&
		slices.Equal(p.ELR, o.ELR) && slices.Equal(p.Adding, o.Adding) && slices.Equal(p.Removing, o.Removing)
}

// without is a list without some of its members; the list itself stays as it is.
func without(list []kafka.BrokerID, gone ...kafka.BrokerID) []kafka.BrokerID {
	if !slices.ContainsFunc(list, func(id kafka.BrokerID) bool { return slices.Contains(gone, id) }) {
		return list
	}
	rest := make([]kafka.BrokerID, 0, len(list))
	for _, id := range list {
		if !slices.Contains(gone, id) {
			rest = append(rest, id)
		}
	}
	return rest
}

// containsAll says whether list has all of wanted.
func containsAll(list, wanted []kafka.BrokerID) bool {
	return !slices.ContainsFunc(wanted, func(id kafka.BrokerID) bool { return !slices.Contains(list, id) })
}
