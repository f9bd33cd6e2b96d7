package clustertest

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Faults that need several things to happen in one order, which chance alone makes too
// seldom.

// late has a node hear of decisions late, or take its roles late: it misses some.
func (f *faults) late(n *node, duration time.Duration) {
	f.delay(n, duration/4)
}

// delay has a node's news wait for a while.
func (f *faults) delay(n *node, d time.Duration) {
	if f.w.chance(2) {
		n.note("hears of decisions late, by %v", d)
		n.behind = f.w.now + d
		return
	}
	n.note("takes its roles late, by %v", d)
	n.busy = f.w.now + d
}

// swing has the leadership of a partition go to another replica and back, while who
// leads now does not hear of it: it never learns that it did not lead. The other one
// has less than the third, and cuts it.
func (f *faults) swing(_ *node, duration time.Duration) {
	id, p := f.anyPartition()
	if p == nil || f.losing() {
		return
	}
	others := slices.DeleteFunc(slices.Clone(p.ISR), func(id kafka.BrokerID) bool { return id == p.Leader })
	if p.Leader == kafka.NoBroker || p.Reassigning() || len(others) == 0 {
		return
	}
	leader, other := f.w.nodes[p.Leader], f.w.nodes[others[f.w.rand.IntN(len(others))]]
	leader.note("gives %v to %d and gets it back", id, other.id)
	begin, hold := f.w.between(100*time.Millisecond, 400*time.Millisecond), 300*time.Millisecond+duration/8
	link := f.w.net.link(leader.host, other.host)
	link.slow = 2 * begin
	f.w.after(begin, func() {
		link.slow = 0
		f.delay(leader, hold+f.w.between(0, 300*time.Millisecond))
		f.prefer(id, other.id)
	})
	f.w.after(begin+hold, func() {
		for _, n := range f.w.nodes {
			if n != leader && n != other && f.w.chance(2) {
				f.delay(n, f.w.between(100*time.Millisecond, time.Second))
			}
		}
		f.prefer(id, leader.id)
	})
}

// prefer makes a replica the first of its partition's, and elects it if it is in sync.
func (f *faults) prefer(id meta.PartitionID, first kafka.BrokerID) {
	t, ok := f.w.control.latest().TopicByID(id.Topic)
	if !ok || int(id.Partition) >= len(t.Partitions) {
		return
	}
	p := &t.Partitions[id.Partition]
	if p.Reassigning() || !slices.Contains(p.Replicas, first) {
		return
	}
	order := []kafka.BrokerID{first}
	for _, r := range p.Replicas {
		if r != first {
			order = append(order, r)
		}
	}
	f.assign(id, order)
	f.propose(&metadata.ElectLeaders{Kind: meta.Preferred, Partitions: []metadata.PartitionID{metadata.PartitionID(id)}})
}

// lurk has the next replica that a leader asks for lose its disk, and be back before
// the cluster hears what the leader asks (KIP-903).
func (f *faults) lurk(*node, time.Duration) { f.lurking = true }

// ambush looks at what a leader is about to ask for, and says for how long it shall not
// be heard.
func (f *faults) ambush(leader *node, c *meta.ISRChange) time.Duration {
	if !f.lurking || f.w.calm {
		return 0
	}
	t, ok := f.w.control.latest().TopicByID(c.Topic)
	if !ok || int(c.Partition) >= len(t.Partitions) {
		return 0
	}
	now := t.Partitions[c.Partition].ISR
	joins := slices.IndexFunc(c.ISR, func(r meta.ISRReplica) bool { return r.ID != leader.id && !slices.Contains(now, r.ID) })
	if joins < 0 {
		return 0
	}
	n := f.w.nodes[c.ISR[joins].ID]
	if !f.mayStop(n) || !f.mayLose(n) {
		return 0
	}
	f.lurking = false
	n.note("loses its disk before it joins %s-%d", t.Name, c.Partition)
	f.lose(n, true)
	f.back(n, f.w.between(5*time.Millisecond, 50*time.Millisecond))
	delay := f.w.between(500*time.Millisecond, 2500*time.Millisecond)
	f.cutLink(n.host, leader.host, delay+f.w.between(0, time.Second)) // it does not have all again by then
	return delay
}
