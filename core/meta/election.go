package meta

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// ElectionKind is what somebody who asks for an election wants, by the protocol's
// numbers.
type ElectionKind int8

// The kinds of elections.
const (
	Preferred ElectionKind = 0
	Unclean   ElectionKind = 1
)

// ElectLeaders holds an election for each of the partitions; nil: all, in the order
// of topics and partitions.
func (d *Draft) ElectLeaders(kind ElectionKind, partitions []PartitionID) []*kafka.Error {
	if partitions == nil {
		for t := range d.old.Topics() {
			for n := range t.Partitions {
				partitions = append(partitions, PartitionID{t.ID, int32(n)})
			}
		}
	}
	errs := make([]*kafka.Error, len(partitions))
	for n, id := range partitions {
		errs[n] = d.electLeader(kind, id)
	}
	return errs
}

// electLeader holds one election.
func (d *Draft) electLeader(kind ElectionKind, id PartitionID) *kafka.Error {
	t, p := d.partition(id)
	switch {
	case t == nil:
		return kafka.ErrUnknownTopicOrPartition.Err("No such topic id as " + id.Topic.String())
	case p == nil:
		return kafka.ErrUnknownTopicOrPartition.Err(fmt.Sprintf("No such partition as %s-%d", t.Name, id.Partition))
	case kind == Preferred && p.Leader == p.Replicas[0], kind == Unclean && p.Leader != kafka.NoBroker:
		return kafka.ErrElectionNotNeeded.Err("")
	}
	c := d.change(t)
	if c.Election = ElectPreferred; kind == Unclean {
		c.Election = ElectUnclean
	}
	switch changed := d.apply(t, int(id.Partition), &c); {
	case changed:
		return nil
	case kind == Preferred:
		return kafka.ErrPreferredLeaderNotAvailable.Err("")
	}
	return kafka.ErrEligibleLeadersNotAvailable.Err("")
}
