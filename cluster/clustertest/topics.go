package clustertest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// topics are the cluster's topics and their clients.
type topics struct {
	w         *world
	specs     map[string]topicSpec
	names     []string // made so far, in order
	producers []*producer
	readers   []*reader
	made      int
	ids       kafka.ProducerID // given out
}

// topicSpec is a topic to make.
type topicSpec struct {
	name       string
	partitions int32
	factor     int16
	minISR     int
	unclean    bool
}

func newTopics(w *world) *topics { return &topics{w: w, specs: map[string]topicSpec{}} }

// loose reports whether records of a topic may be lost.
func (t *topics) loose(name string) bool { return t.specs[name].unclean }

// begin makes the topics that every run has.
func (t *topics) begin() {
	t.create(topicSpec{name: "safe", partitions: 1 + int32(t.w.rand.IntN(2)), factor: 3, minISR: 2})
	if t.w.chance(2) {
		t.create(topicSpec{name: "single", partitions: 1, factor: 2 + int16(t.w.rand.IntN(2)), minISR: 1})
	}
	if t.w.chance(3) {
		t.create(topicSpec{name: "loose", partitions: 1, factor: 3, minISR: 1, unclean: true})
	}
}

// create makes a topic, tries again until it is there, and sends its clients.
func (t *topics) create(s topicSpec) {
	t.specs[s.name] = s
	configs := map[string]string{meta.MinISRConfig: strconv.Itoa(s.minISR)}
	if s.unclean {
		configs[meta.UncleanElectionConfig] = "true"
	}
	if t.w.chance(2) {
		configs["segment.ms"] = "60" // by the batches' timestamps: every 60 batches of the whole run
	}
	t.made++
	var id kafka.TopicID
	id[0], id[14], id[15] = 1, byte(t.made>>8), byte(t.made)
	c := &metadata.CreateTopics{Seed: t.w.rand.Uint64(), Topics: []metadata.NewTopic{{
		Name: s.name, ID: id, PartitionCount: s.partitions, ReplicationFactor: s.factor, Configs: configs,
	}}}
	t.w.control.propose(adminHost, c, func(metadata.Result, int, bool) {
		made, ok := t.w.control.latest().Topic(s.name)
		if !ok {
			t.w.after(time.Second, func() { t.create(s) })
			return
		}
		t.names = append(t.names, s.name)
		t.w.note("topic %s: %+v", s.name, made.Partitions)
		for n := range made.Partitions {
			t.clients(s, meta.PartitionID{Topic: made.ID, Partition: int32(n)})
		}
	})
}

// clients sends producers and a reader to a partition.
func (t *topics) clients(s topicSpec, id meta.PartitionID) {
	t.produce(id, &producer{acks: -1, idempotent: !s.unclean, window: 1 + t.w.rand.IntN(3)})
	switch t.w.rand.IntN(3) {
	case 0:
		t.produce(id, &producer{acks: 1, window: 1})
	case 1:
		t.produce(id, &producer{acks: -1, window: 2})
	}
	r := &reader{client: t.client(id)}
	t.readers = append(t.readers, r)
	t.w.after(100*time.Millisecond, r.step)
}

func (t *topics) produce(id meta.PartitionID, p *producer) {
	p.client = t.client(id)
	p.pid = kafka.NoProducerID
	if p.idempotent {
		p.pid = t.producerID()
	}
	t.producers = append(t.producers, p)
	t.w.after(t.w.between(0, 100*time.Millisecond), p.step)
}

// producerID is one that nobody has.
func (t *topics) producerID() kafka.ProducerID {
	t.ids++
	return t.ids
}

// client is a new client of a partition.
func (t *topics) client(id meta.PartitionID) client {
	t.w.clients++
	return client{w: t.w, host: clientHost + t.w.clients, id: id, epoch: kafka.NoLeaderEpoch}
}

// temporary makes a topic that will be deleted.
func (t *topics) temporary() {
	t.create(topicSpec{name: fmt.Sprintf("temporary%d", t.made), partitions: 1, factor: 2, minISR: 1})
}

// any is a topic that is there, with its specification.
func (t *topics) any() (*meta.Topic, bool) {
	if len(t.names) == 0 {
		return nil, false
	}
	return t.w.control.latest().Topic(t.names[t.w.rand.IntN(len(t.names))])
}

// unsettled says which client is not done; empty: all are.
func (t *topics) unsettled() string {
	for i, p := range t.producers {
		if len(p.queue) > 0 && !p.over() {
			return fmt.Sprintf("producer %d of %v still has batch %d to send", i, p.id, p.queue[0].token)
		}
	}
	return ""
}

// client is what producers and readers know of their partition.
type client struct {
	w     *world
	host  int
	id    meta.PartitionID
	epoch kafka.LeaderEpoch // the latest that it has heard of
}

// leader asks some node who leads; ok false: nobody knows better than the client.
func (c *client) leader() (*node, bool) {
	n := c.w.nodes[c.w.rand.IntN(len(c.w.nodes))]
	if n.replicas == nil || n.paused || !c.w.net.reaches(c.host, n.host) {
		return nil, false
	}
	t, ok := n.image.TopicByID(c.id.Topic)
	if !ok || int(c.id.Partition) >= len(t.Partitions) {
		return nil, false
	}
	p := &t.Partitions[c.id.Partition]
	if p.LeaderEpoch < c.epoch || p.Leader == kafka.NoBroker {
		return nil, false
	}
	c.epoch = p.LeaderEpoch
	return c.w.nodes[p.Leader], true
}

// over reports whether the partition is gone.
func (c *client) over() bool {
	_, ok := c.w.control.latest().TopicByID(c.id.Topic)
	return !ok
}
