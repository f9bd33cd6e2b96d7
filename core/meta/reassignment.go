package meta

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Reassignment asks that a partition moves to other replicas.
type Reassignment struct {
	PartitionID
	Replicas []kafka.BrokerID // nil: the move under way is given up
	// KeepFactor refuses another number of replicas (KIP-860).
	KeepFactor bool
}

// Reassigning says whether the partition is on its way to other replicas.
func (p *Partition) Reassigning() bool { return len(p.Adding) > 0 || len(p.Removing) > 0 }

// Reassign begins, changes or gives up moves of partitions, each by itself.
func (d *Draft) Reassign(changes []Reassignment) []*kafka.Error {
	errs := make([]*kafka.Error, len(changes))
	for n := range changes {
		errs[n] = d.reassign(&changes[n])
	}
	return errs
}

// reassign begins, changes or gives up one move.
func (d *Draft) reassign(r *Reassignment) *kafka.Error {
	t, p := d.partition(r.PartitionID)
	switch {
	case t == nil:
		return kafka.ErrUnknownTopicOrPartition.Err("Unable to find a topic with ID " + r.Topic.String() + ".")
	case p == nil:
		return kafka.ErrUnknownTopicOrPartition.Err(fmt.Sprintf("Unable to find partition %s:%d.", t.Name, r.Partition))
	case r.Replicas == nil:
		return d.cancelReassignment(t, p, int(r.Partition))
	}
	if err := d.old.CheckReplicas(r.Replicas); err != nil {
		return err
	}
	// Of a partition that moves the factor is that of where it goes.
	if now := len(without(p.Replicas, p.Removing...)); r.KeepFactor && len(r.Replicas) != now {
		return kafka.ErrInvalidReplicationFactor.Err(fmt.Sprintf("The replication factor is changed from %d to %d", now, len(r.Replicas)))
	}
	c := d.change(t)
	c.Election = ElectOnline
	c.Removing = sorted(without(p.Replicas, r.Replicas...))
	c.Replicas = append(slices.Clone(r.Replicas), c.Removing...)
	// What an earlier move was adding and this one keeps is still on its way.
	c.Adding = sorted(without(r.Replicas, without(p.Replicas, p.Adding...)...))
	d.apply(t, int(r.Partition), &c)
	return nil
}

// cancelReassignment takes a partition back to where it came from, if somebody there is in
// sync. Who is merely eligible there does not count, as in Kafka; but when nobody is in sync
// anywhere, what is added may be all that still has the records.
func (d *Draft) cancelReassignment(t *Topic, p *Partition, n int) *kafka.Error {
	if !p.Reassigning() {
		return kafka.ErrNoReassignmentInProgress.Err("")
	}
	none := []kafka.BrokerID{}
	c := d.change(t)
	c.Adding, c.Removing = none, none
	c.Replicas, c.ISR = without(p.Replicas, p.Adding...), without(p.ISR, p.Adding...)
	if len(c.ISR) == 0 && c.Election != ElectUnclean {
		return kafka.ErrInvalidReplicaAssignment.Err(fmt.Sprintf("Unable to revert partition assignment for %s:%d because it would require an unclean leader election.", t.Name, n))
	}
	d.apply(t, n, &c)
	return nil
}

// sorted is a list of its own in the order of ids.
func sorted(ids []kafka.BrokerID) []kafka.BrokerID {
	list := append(make([]kafka.BrokerID, 0, len(ids)), ids...)
	slices.Sort(list)
	return list
}
