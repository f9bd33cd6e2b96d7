package meta

import (
	"iter"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Draft collects what one decision does to brokers and partitions. Every decider
// uses it, so that all of them decide alike. Its methods see what the ones before
// did. A Draft belongs to one goroutine.
//
// Cost: what concerns one broker (Fence, Unfence, BeginShutdown, Unregister) looks at the
// partitions that have a replica there, and copies the topics that change. Unfence looks
// at none when no partition is without a leader.
type Draft struct {
	old     *Image
	topics  map[kafka.TopicID]*Topic       // the changed ones, owned
	brokers map[kafka.BrokerID]*Broker     // the changed ones; nil: removed
	configs map[Resource]map[string]string // the changed ones

	rules  map[kafka.TopicID]topicRules // what configs say, as far as asked for
	lowest int                          // see lowestMinISR; 0: not looked up

	isAlive, isLeaving, isFull func(kafka.BrokerID) bool // alive, leaving and full, made once for all changes
}

// Draft starts a decision about i.
func (i *Image) Draft() *Draft {
	d := &Draft{old: i, topics: map[kafka.TopicID]*Topic{}, brokers: map[kafka.BrokerID]*Broker{},
		configs: map[Resource]map[string]string{}, rules: map[kafka.TopicID]topicRules{}}
	d.isAlive, d.isLeaving, d.isFull = d.alive, d.leaving, d.full
	return d
}

// Changed says whether the decision changes anything.
func (d *Draft) Changed() bool { return len(d.topics)+len(d.brokers)+len(d.configs) > 0 }

// Put writes the decision into the edit of the image that the draft began with. The
// draft must not be used after it.
func (d *Draft) Put(e *Edit) {
	for id, b := range d.brokers {
		if b == nil {
			e.RemoveBroker(id)
		} else {
			e.PutBroker(b)
		}
	}
	for _, t := range d.topics {
		e.PutTopic(t)
	}
	for r, values := range d.configs {
		e.SetConfig(r, values)
	}
}

// broker finds a broker as the draft has it.
func (d *Draft) broker(id kafka.BrokerID) (*Broker, bool) {
	if b, ok := d.brokers[id]; ok {
		return b, b != nil
	}
	return d.old.Broker(id)
}

// everyBroker are the brokers as the draft has them, in no particular order.
func (d *Draft) everyBroker() iter.Seq[*Broker] {
	return func(yield func(*Broker) bool) {
		for b := range d.old.Brokers() {
			if _, changed := d.brokers[b.ID]; !changed && !yield(b) {
				return
			}
		}
		for _, b := range d.brokers {
			if b != nil && !yield(b) {
				return
			}
		}
	}
}

// alive says whether a broker may be elected.
func (d *Draft) alive(id kafka.BrokerID) bool {
	b, known := d.broker(id)
	return known && b.Active()
}

// leaving says whether a broker is in controlled shutdown and still serves.
func (d *Draft) leaving(id kafka.BrokerID) bool {
	b, known := d.broker(id)
	return known && b.ShuttingDown && !b.Fenced
}

// full says whether a broker has no room.
func (d *Draft) full(id kafka.BrokerID) bool {
	b, known := d.broker(id)
	return known && b.Full
}

// topic is a topic as the draft has it; nil: there is none.
func (d *Draft) topic(id kafka.TopicID) *Topic {
	if t, ok := d.topics[id]; ok {
		return t
	}
	t, _ := d.old.TopicByID(id)
	return t
}

// partition finds a partition and its topic; nil: there is none.
func (d *Draft) partition(id PartitionID) (*Topic, *Partition) {
	t := d.topic(id.Topic)
	if t == nil || id.Partition < 0 || int(id.Partition) >= len(t.Partitions) {
		return t, nil
	}
	return t, &t.Partitions[id.Partition]
}

// change is a change of a partition of t that asks for nothing yet.
func (d *Draft) change(t *Topic) PartitionChange {
	r := d.rulesOf(t)
	c := PartitionChange{Alive: d.isAlive, Leaving: d.isLeaving, Full: d.isFull, MinISR: r.minISR}
	if r.unclean {
		c.Election = ElectUnclean
	}
	return c
}

// apply changes a partition and says whether that made a difference.
func (d *Draft) apply(t *Topic, n int, c *PartitionChange) bool {
	next, changed := t.Partitions[n].Next(c)
	if changed {
		d.own(t).Partitions[n] = next
	}
	return changed
}

// own is the draft's own copy of a topic.
func (d *Draft) own(t *Topic) *Topic {
	if mine, ok := d.topics[t.ID]; ok {
		return mine
	}
	mine := &Topic{Name: t.Name, ID: t.ID, Partitions: slices.Clone(t.Partitions)}
	d.topics[t.ID] = mine
	return mine
}

// update changes the partitions with a replica on a broker that wanted chooses; ask
// completes the change. A replica that the draft itself has put there is not looked at:
// no decision about a broker comes after one about replicas.
func (d *Draft) update(id kafka.BrokerID, wanted func(*Partition) bool, ask func(*Partition, *PartitionChange)) {
	for at := range d.old.PartitionsOn(id) {
		if t, p := d.partition(at); p != nil && wanted(p) {
			c := d.change(t)
			ask(p, &c)
			d.apply(t, int(at.Partition), &c)
		}
	}
}
