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
//
// One without any ISR comes from any replica and says that its copy has failed: it is
// not in sync any more and not eligible, unless nobody else could lead.
type ISRChange struct {
	PartitionID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	ISR            []ISRReplica
	Recovered      bool // ends Partition.Recovering

	// Failed says that the copy of the broker that asks can't be used any more, because
	// its log directory failed. Leader or follower, it leaves the ISR if others are in it;
	// ISR does not count. (Kafka's brokers tell of the directory, KIP-858.)
	Failed bool
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
	if c.Failed {
		return d.leaveISR(from, t, c)
	}
	check := d.checkISR
	if len(c.ISR) == 0 {
		check = d.checkFailed
	}
	if err := check(from, p, c); err != nil {
		return ISRResult{Err: err, State: *p}
	}
	if len(c.ISR) == 0 {
		d.copyFailed(from, t, int(c.Partition))
		_, p = d.partition(c.PartitionID)
		return ISRResult{State: *p}
	}
	change := d.change(t)
	change.ISR, change.Recovered = make([]kafka.BrokerID, 0, len(c.ISR)), c.Recovered
	for _, r := range c.ISR {
		change.ISR = append(change.ISR, r.ID)
	}
	d.apply(t, int(c.Partition), &change)
	_, p = d.partition(c.PartitionID)
	if p.Leader != from { // the end of a reassignment took its place away
		return ISRResult{Err: kafka.ErrNewLeaderElected.Err(""), State: *p}
	}
	return ISRResult{State: *p}
}

// leaveISR takes a broker whose copy has failed out of the ISR. Alone in it, it stays:
// nobody else has what it may have after a repair.
func (d *Draft) leaveISR(from kafka.BrokerID, t *Topic, c *ISRChange) ISRResult {
	p := &t.Partitions[c.Partition]
	if len(p.ISR) > 1 && slices.Contains(p.ISR, from) {
		change := d.change(t)
		change.ISR, change.Lost = without(p.ISR, from), []kafka.BrokerID{from}
		d.apply(t, int(c.Partition), &change)
		_, p = d.partition(c.PartitionID)
	}
	return ISRResult{State: *p}
}

// checkISR says why a leader's change is refused; nil: it is not.
func (d *Draft) checkISR(from kafka.BrokerID, p *Partition, c *ISRChange) *kafka.Error {
	if err := checkEpochs(p, c, from == p.Leader); err != nil {
		return err
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

// checkFailed says why nobody listens to a replica whose copy has failed.
func (d *Draft) checkFailed(from kafka.BrokerID, p *Partition, c *ISRChange) *kafka.Error {
	return checkEpochs(p, c, slices.Contains(p.Replicas, from))
}

// checkEpochs refuses who has seen another state of the partition, and who may not
// ask in the present one.
func checkEpochs(p *Partition, c *ISRChange, mayAsk bool) *kafka.Error {
	switch {
	case c.LeaderEpoch > p.LeaderEpoch, c.PartitionEpoch > p.PartitionEpoch:
		// Who asks has seen more than who decides here.
		return kafka.ErrNotController.Err("")
	case c.LeaderEpoch < p.LeaderEpoch:
		return kafka.ErrFencedLeaderEpoch.Err("")
	case !mayAsk:
		return kafka.ErrInvalidRequest.Err("")
	case c.PartitionEpoch < p.PartitionEpoch:
		return kafka.ErrInvalidUpdateVersion.Err("")
	}
	return nil
}

// copyFailed takes a replica without a copy away from where it counts, if the
// partition has a leader then.
func (d *Draft) copyFailed(from kafka.BrokerID, t *Topic, n int) {
	p := &t.Partitions[n]
	c := d.change(t)
	c.ISR, c.Lost = without(p.ISR, from), []kafka.BrokerID{from}
	c.Alive = func(id kafka.BrokerID) bool { return id != from && d.alive(id) }
	if next, changed := p.Next(&c); changed && next.Leader != kafka.NoBroker {
		d.own(t).Partitions[n] = next
	}
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
