package clustertest

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/replicatest"
)

// plant makes the bugs that are the deciders', by changing what they are asked.
func (c *control) plant(img *meta.Image, command metadata.Command) {
	c.asked = command
	switch q := command.(type) {
	case *metadata.AlterISR:
		if c.w.bug == replicatest.IgnoreISREpoch {
			c.again(*q)
			forgetEpochs(img, q)
		}
		if c.w.bug == replicatest.IgnoreBrokerEpoch {
			forgetBrokers(q)
		}
	case *metadata.CreateTopics:
		if c.w.bug == replicatest.ElectAnybody {
			q.Topics[0].Configs[meta.UncleanElectionConfig] = "true"
		}
	}
}

// again has a request come once more, late, as one may that a leader sent again: without
// the epochs it counts.
func (c *control) again(q metadata.AlterISR) {
	if c.late {
		return
	}
	q.Changes = slices.Clone(q.Changes)
	for i := range q.Changes {
		q.Changes[i].ISR = slices.Clone(q.Changes[i].ISR)
	}
	c.w.after(c.w.between(time.Second, 8*time.Second), func() {
		c.late = true
		c.append(&q)
		c.late = false
	})
}

// lie has a broker that stopped without order say something else.
func (c *control) lie(n *node, q *metadata.RegisterBroker) {
	if b, known := c.latest().Broker(n.id); known && c.w.bug == replicatest.IgnoreUncleanShutdown {
		q.CleanShutdown, q.PreviousEpoch, q.Missing = true, b.Epoch, nil
	}
}

// forgetBrokers makes a request for an ISR one that does not say by which registration
// the leader found each replica in sync.
func forgetBrokers(q *metadata.AlterISR) {
	q.Changes = slices.Clone(q.Changes)
	for i := range q.Changes {
		isr := slices.Clone(q.Changes[i].ISR)
		for k := range isr {
			isr[k].Epoch = -1
		}
		q.Changes[i].ISR = isr
	}
}

// spoil makes the bugs of what the deciders come to: a further image, or the same.
func (c *control) spoil(old, next *meta.Image) *meta.Image {
	var spoil func(before, t *meta.Topic) *meta.Topic
	switch {
	case c.w.bug == replicatest.LeaveAlone:
		return c.leaveAlone(next)
	case next == old:
		return next
	case c.w.bug == replicatest.EverybodyEligible:
		spoil = keepEligible
	case c.w.bug == replicatest.MoveAtOnce:
		spoil = moveAtOnce
	case c.w.bug == replicatest.UnregisteredStays && next.BrokerCount() < old.BrokerCount():
		spoil = func(before, _ *meta.Topic) *meta.Topic { return before }
	default:
		return next
	}
	e := next.Edit(next.Index + 1)
	for t := range next.Topics() {
		if before, ok := old.TopicByID(t.ID); ok && before != t {
			e.PutTopic(spoil(before, t))
		}
	}
	return e.Image()
}

// leaveAlone is an image without those in sync alone who ask to leave for want of room.
func (c *control) leaveAlone(img *meta.Image) *meta.Image {
	q, ok := c.asked.(*metadata.AlterISR)
	if !ok {
		return img
	}
	e := img.Edit(img.Index + 1)
	spoiled := false
	for _, change := range q.Changes {
		t, ok := img.TopicByID(change.Topic)
		if !ok || !change.Full || int(change.Partition) >= len(t.Partitions) || !slices.Equal(t.Partitions[change.Partition].ISR, []kafka.BrokerID{q.From}) {
			continue
		}
		t = &meta.Topic{Name: t.Name, ID: t.ID, Partitions: slices.Clone(t.Partitions)}
		p := &t.Partitions[change.Partition]
		p.ISR, p.ELR, p.Leader, p.LastKnownLeader = nil, nil, kafka.NoBroker, kafka.NoBroker
		p.LeaderEpoch, p.PartitionEpoch = p.LeaderEpoch+1, p.PartitionEpoch+1
		e.PutTopic(t)
		spoiled = true
	}
	if !spoiled {
		return img
	}
	return e.Image()
}

// moveAtOnce is a topic whose partitions are where they shall be, if who leads stays.
func moveAtOnce(_, t *meta.Topic) *meta.Topic {
	spoiled := &meta.Topic{Name: t.Name, ID: t.ID, Partitions: slices.Clone(t.Partitions)}
	for n := range spoiled.Partitions {
		p := &spoiled.Partitions[n]
		to := target(p)
		if len(p.Adding) == 0 || !slices.Contains(to, p.Leader) {
			continue
		}
		isr := slices.DeleteFunc(slices.Clone(to), func(id kafka.BrokerID) bool { return !slices.Contains(p.ISR, id) && !slices.Contains(p.Adding, id) })
		p.Replicas, p.ISR, p.ELR, p.Adding, p.Removing = to, isr, nil, nil, nil
		p.LeaderEpoch++
	}
	return spoiled
}

// keepEligible is a topic in which nobody who could lead before is without that right.
func keepEligible(before, t *meta.Topic) *meta.Topic {
	spoiled := &meta.Topic{Name: t.Name, ID: t.ID, Partitions: slices.Clone(t.Partitions)}
	for n := range min(len(before.Partitions), len(t.Partitions)) {
		p, was := &spoiled.Partitions[n], &before.Partitions[n]
		p.ELR = slices.Clone(p.ELR)
		for _, id := range slices.Concat(was.ELR, was.ISR) {
			if slices.Contains(p.Replicas, id) && !slices.Contains(p.ISR, id) && !slices.Contains(p.ELR, id) {
				p.ELR = append(p.ELR, id)
			}
		}
	}
	return spoiled
}

// forgetEpochs makes a request for an ISR look as if it came from whom it may.
func forgetEpochs(img *meta.Image, q *metadata.AlterISR) {
	for i := range q.Changes {
		change := &q.Changes[i]
		t, ok := img.TopicByID(change.Topic)
		if !ok || int(change.Partition) >= len(t.Partitions) {
			continue
		}
		p := &t.Partitions[change.Partition]
		b, known := img.Broker(p.Leader)
		if p.Leader == kafka.NoBroker || !known {
			continue
		}
		q.From, q.Epoch = p.Leader, b.Epoch
		change.LeaderEpoch, change.PartitionEpoch = p.LeaderEpoch, p.PartitionEpoch
		leads := false
		for k := range change.ISR {
			change.ISR[k].Epoch = -1
			leads = leads || change.ISR[k].ID == p.Leader
		}
		if !leads {
			change.ISR = append(change.ISR, metadata.ISRReplica{ID: p.Leader, Epoch: -1})
		}
	}
}
