package meta

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// PartitionID names a partition of a topic that is not made again.
type PartitionID struct {
	Topic     kafka.TopicID
	Partition int32
}

// ISRReplica is a replica that a leader found in sync, and the registration of the
// broker by which it found that (KIP-903); -1: not known.
type ISRReplica struct {
	ID    kafka.BrokerID
	Epoch kafka.BrokerEpoch
}

// ISRChange is a leader's wish for the in-sync replicas of a partition. The epochs
// are the ones that the leader knows: with others nothing is done.
type ISRChange struct {
	PartitionID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	ISR            []ISRReplica
	Recovered      bool // ends Partition.Recovering

	// Failed says that the copy of the broker that asks can't be used any more, because
	// its log directory failed. Leader or follower, it leaves ISR and ELR, unless nobody
	// else could lead then. Epochs and ISR don't count: a directory that failed stays so
	// as long as the registration. (Kafka's brokers tell of the directory, KIP-858.)
	Failed bool
	// Full says that the broker that asks has no room to append to its copy. Leader or
	// follower, it leaves the ISR, if another one leads then that was in it and has room.
	// Epochs and ISR don't count: who leaves without need is back with its next fetches.
	// (In Kafka a full disk is a failed one.)
	Full bool
}

// ISRResult says what became of an ISRChange.
type ISRResult struct {
	Err   *kafka.Error
	State Partition // as it is now; the zero one for a partition that is not there
}

// AlterISR makes the changes that a leader asks for, each by itself. Of several for
// one partition the later ones come too late. A broker whose registration is another
// one than epoch is refused as a whole.
//
// Order and codes of the refusals are Kafka's, except that a leader in controlled
// shutdown may stay in the ISR: it leads on until another replica can.
func (d *Draft) AlterISR(from kafka.BrokerID, epoch kafka.BrokerEpoch, changes []ISRChange) ([]ISRResult, *kafka.Error) {
	if err := d.checkEpoch(from, epoch); err != nil {
		return nil, err
	}
	results := make([]ISRResult, len(changes))
	for n := range changes {
		results[n] = d.alterISR(from, &changes[n])
	}
	return results, nil
}

// alterISR makes one change.
func (d *Draft) alterISR(from kafka.BrokerID, c *ISRChange) ISRResult {
	t, p := d.partition(c.PartitionID)
	if t == nil {
		return ISRResult{Err: kafka.ErrUnknownTopicID.Err("")}
	}
	if p == nil {
		return ISRResult{Err: kafka.ErrUnknownTopicOrPartition.Err("")}
	}
	if c.Failed || c.Full {
		if next, leaves := d.leave(from, t, p, c); leaves {
			d.own(t).Partitions[c.Partition] = next
		}
		_, p = d.partition(c.PartitionID)
		return ISRResult{State: *p}
	}
	if err := d.checkISR(from, p, c); err != nil {
		return ISRResult{Err: err, State: *p}
	}
	change := d.change(t)
	change.ISR, change.Recovered = make([]kafka.BrokerID, 0, len(c.ISR)), c.Recovered
	for _, r := range c.ISR {
		change.ISR = append(change.ISR, r.ID)
	}
	slices.Sort(change.ISR) // what a leader asks for is a set: Kafka's tools show it so
	d.apply(t, int(c.Partition), &change)
	_, p = d.partition(c.PartitionID)
	if p.Leader != from { // the end of a reassignment took its place away
		return ISRResult{Err: kafka.ErrNewLeaderElected.Err(""), State: *p}
	}
	return ISRResult{State: *p}
}

// checkISR says why a leader's change is refused; nil: it is not.
func (d *Draft) checkISR(from kafka.BrokerID, p *Partition, c *ISRChange) *kafka.Error {
	switch {
	case c.LeaderEpoch > p.LeaderEpoch, c.PartitionEpoch > p.PartitionEpoch:
		// The leader has seen more than who decides here.
		return kafka.ErrNotController.Err("")
	case c.LeaderEpoch < p.LeaderEpoch:
		return kafka.ErrFencedLeaderEpoch.Err("")
	case from != p.Leader:
		return kafka.ErrInvalidRequest.Err("")
	case c.PartitionEpoch < p.PartitionEpoch:
		return kafka.ErrInvalidUpdateVersion.Err("")
	}
	hasLeader := false
	for n, r := range c.ISR {
		if !slices.Contains(p.Replicas, r.ID) || slices.ContainsFunc(c.ISR[:n], func(o ISRReplica) bool { return o.ID == r.ID }) {
			return kafka.ErrInvalidRequest.Err("")
		}
		hasLeader = hasLeader || r.ID == from
	}
	if !hasLeader || p.Recovering && !c.Recovered && len(c.ISR) > 1 {
		return kafka.ErrInvalidRequest.Err("")
	}
	for _, r := range c.ISR {
		if !d.eligibleForISR(r, from) {
			return kafka.ErrIneligibleReplica.Err("")
		}
	}
	return nil
}

// MayLeave says whether an ISRChange with Failed or Full of the broker would change
// anything as the draft is now: who asks in vain costs the cluster a decision.
func (d *Draft) MayLeave(from kafka.BrokerID, c *ISRChange) bool {
	t, p := d.partition(c.PartitionID)
	if p == nil {
		return false
	}
	_, leaves := d.leave(from, t, p, c)
	return leaves
}

// leave is the partition without a replica that can't be counted on, and whether it may
// leave.
func (d *Draft) leave(from kafka.BrokerID, t *Topic, p *Partition, c *ISRChange) (next Partition, leaves bool) {
	if c.Failed {
		return d.withoutCopy(from, t, p)
	}
	return d.withoutRoom(from, t, p)
}

// withoutCopy is the partition after the copy of a replica failed. It may leave if the
// partition has a leader then that has the records: what nobody else has may be there
// after a repair.
func (d *Draft) withoutCopy(from kafka.BrokerID, t *Topic, p *Partition) (next Partition, leaves bool) {
	if !slices.Contains(p.ISR, from) && !slices.Contains(p.ELR, from) {
		return *p, false
	}
	c := d.change(t)
	c.ISR, c.Lost = without(p.ISR, from), []kafka.BrokerID{from}
	c.Alive = func(id kafka.BrokerID) bool { return id != from && d.alive(id) }
	next, changed := p.Next(&c)
	clean := slices.Contains(p.ISR, next.Leader) || slices.Contains(p.ELR, next.Leader)
	return next, changed && next.Leader != kafka.NoBroker && (clean || c.Election == ElectUnclean)
}

// withoutRoom is the partition after a replica could not append. It may leave if another
// one in sync leads then that can append. It has what it had: below min.insync.replicas it
// stays eligible.
func (d *Draft) withoutRoom(from kafka.BrokerID, t *Topic, p *Partition) (next Partition, leaves bool) {
	if len(p.ISR) < 2 || !slices.Contains(p.ISR, from) {
		return *p, false
	}
	c := d.change(t)
	c.ISR, c.Election = without(p.ISR, from), ElectOnline
	c.Alive = func(id kafka.BrokerID) bool { return id != from && d.alive(id) }
	next, changed := p.Next(&c)
	return next, changed && slices.Contains(p.ISR, next.Leader) && !d.full(next.Leader)
}

// eligibleForISR says whether a replica may be in the ISR.
func (d *Draft) eligibleForISR(r ISRReplica, leader kafka.BrokerID) bool {
	b, known := d.broker(r.ID)
	return known && !b.Fenced && (!b.ShuttingDown || r.ID == leader) && (r.Epoch == -1 || r.Epoch == b.Epoch)
}

// checkEpoch refuses a broker that has been registered again since.
func (d *Draft) checkEpoch(id kafka.BrokerID, epoch kafka.BrokerEpoch) *kafka.Error {
	b, known := d.broker(id)
	switch {
	case !known:
		return kafka.ErrStaleBrokerEpoch.Err(fmt.Sprintf("No broker registration found for broker id %d", id))
	case b.Epoch != epoch:
		return kafka.ErrStaleBrokerEpoch.Err(fmt.Sprintf("Expected broker epoch %d, but got broker epoch %d", b.Epoch, epoch))
	}
	return nil
}
