package clustertest

import (
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// imageChecker holds every new image to the rules of the cluster's state.
type imageChecker struct {
	w       *world
	leaders map[leadership]kafka.BrokerID
}

// leadership is one epoch of one partition.
type leadership struct {
	meta.PartitionID
	epoch kafka.LeaderEpoch
}

func newImageChecker(w *world) *imageChecker {
	return &imageChecker{w: w, leaders: map[leadership]kafka.BrokerID{}}
}

// check compares an image with the one before.
func (c *imageChecker) check(old, next *meta.Image) {
	if next == old {
		return
	}
	if next.Index <= old.Index {
		c.w.fail("image: the index goes from %d to %d", old.Index, next.Index)
	}
	if next.BrokerCount() < old.BrokerCount() {
		c.forgotten(next)
	}
	for t := range next.Topics() {
		before, _ := old.TopicByID(t.ID)
		if before == t {
			continue
		}
		for n := range t.Partitions {
			var was *meta.Partition
			if before != nil && n < len(before.Partitions) {
				was = &before.Partitions[n]
			}
			c.partition(next, t, n, was)
		}
		if before != nil && len(before.Partitions) > len(t.Partitions) {
			c.w.fail("image: %s has %d partitions after %d", t.Name, len(t.Partitions), len(before.Partitions))
		}
	}
}

// forgotten checks that no partition counts on a broker that the cluster has forgotten.
func (c *imageChecker) forgotten(img *meta.Image) {
	for t := range img.Topics() {
		for n := range t.Partitions {
			p := &t.Partitions[n]
			for _, id := range slices.Concat(p.ISR, p.ELR) {
				if _, known := img.Broker(id); !known {
					c.w.fail("image: %s-%d: nobody knows broker %d: %+v", t.Name, n, id, p)
				}
			}
		}
	}
}

// partition checks one partition that may have changed.
func (c *imageChecker) partition(img *meta.Image, t *meta.Topic, n int, was *meta.Partition) {
	p := &t.Partitions[n]
	bad := func(what string) { c.w.fail("image: %s-%d: %s: %+v after %+v", t.Name, n, what, p, was) }
	all := func(of []kafka.BrokerID) bool {
		return !slices.ContainsFunc(of, func(id kafka.BrokerID) bool { return !slices.Contains(p.Replicas, id) })
	}
	known := func(of []kafka.BrokerID) bool {
		return !slices.ContainsFunc(of, func(id kafka.BrokerID) bool { _, ok := img.Broker(id); return !ok })
	}
	switch {
	case !all(p.ISR):
		bad("the ISR is not within the replicas")
	case !all(p.ELR):
		bad("the ELR is not within the replicas")
	case !known(p.ISR):
		bad("an unknown broker is in the ISR")
	case !known(p.ELR):
		bad("an unknown broker is in the ELR")
	case was == nil && !known(p.Replicas), was != nil && !known(slices.DeleteFunc(slices.Clone(p.Adding), func(id kafka.BrokerID) bool { return slices.Contains(was.Replicas, id) })):
		bad("an unknown broker is a new replica")
	case slices.ContainsFunc(p.ELR, func(id kafka.BrokerID) bool { return slices.Contains(p.ISR, id) }):
		bad("a replica is in both ISR and ELR")
	case p.Leader != kafka.NoBroker && !slices.Contains(p.ISR, p.Leader):
		bad("the leader is not in the ISR")
	}
	if was != nil {
		switch {
		case p.LeaderEpoch < was.LeaderEpoch, p.PartitionEpoch < was.PartitionEpoch:
			bad("an epoch goes back")
		case p.Leader != was.Leader && p.LeaderEpoch == was.LeaderEpoch:
			bad("another leader in the same epoch")
		}
	}
	c.w.history.eligible(meta.PartitionID{Topic: t.ID, Partition: int32(n)})
	if p.Leader == kafka.NoBroker {
		return
	}
	at := leadership{meta.PartitionID{Topic: t.ID, Partition: int32(n)}, p.LeaderEpoch}
	if leader, ok := c.leaders[at]; ok && leader != p.Leader {
		bad("a second leader of one epoch")
	}
	c.leaders[at] = p.Leader
	if b, known := img.Broker(p.Leader); !known || b.Fenced {
		bad("the leader is not alive")
	}
}
