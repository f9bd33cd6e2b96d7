package clustertest

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// How many nodes there are at a time while they come and go.
const (
	nodesLeast = 3
	nodesMost  = 6
)

// leaveEvery is how often it is looked at how far a node is with leaving.
const leaveEvery = 500 * time.Millisecond

// staying are the nodes that partitions may move to.
func (f *faults) staying() []*node {
	return slices.DeleteFunc(f.w.present(), func(n *node) bool { return n == f.leaving })
}

// join has a node come: a new one with an empty disk, or one that left, with its old disk
// or another.
func (f *faults) join(*node, time.Duration) {
	if len(f.w.present()) >= nodesMost {
		return
	}
	for _, n := range f.w.nodes {
		if n.left && n != f.leaving && f.w.chance(2) {
			if n.left = false; f.w.chance(2) {
				n.wipe()
			}
			n.note("is here again")
			f.come(n)
			return
		}
	}
	n := f.w.addNode()
	n.note("is new")
	f.come(n)
}

// come starts a node that joins, and moves partitions to it a while later.
func (f *faults) come(n *node) {
	f.w.churn.Joined++
	n.start()
	f.w.after(f.w.between(time.Second, 4*time.Second), func() {
		if f.losing() || n.left || n == f.leaving {
			return
		}
		f.partitions(func(id meta.PartitionID, p *meta.Partition) {
			target := target(p)
			if !slices.Contains(target, n.id) && f.w.chance(2) {
				f.move(id, target, f.w.rand.IntN(len(target)), n)
			}
		})
	})
}

// move asks for one replica of a partition to be another node's.
func (f *faults) move(id meta.PartitionID, target []kafka.BrokerID, at int, to *node) {
	target[at] = to.id
	f.assign(id, target)
}

// assign asks for a partition's replicas; none: for the move under way to be given up.
func (f *faults) assign(id meta.PartitionID, replicas []kafka.BrokerID) {
	f.propose(&metadata.AlterReassignments{Changes: []metadata.Reassignment{{Topic: id.Topic, Partition: id.Partition, Replicas: replicas}}})
}

// target are the replicas that a partition has once it has moved.
func target(p *meta.Partition) []kafka.BrokerID {
	return slices.DeleteFunc(slices.Clone(p.Replicas), func(r kafka.BrokerID) bool { return slices.Contains(p.Removing, r) })
}

// mayLeave reports whether the cluster can do without a node for good.
func (f *faults) mayLeave(n *node) bool {
	return f.leaving == nil && len(f.w.present()) > nodesLeast && f.w.control.canSpare(n.host)
}

// drain moves everything off a node and stops it then, as before a machine is taken away.
func (f *faults) drain(n *node, _ time.Duration) {
	if !f.mayLeave(n) {
		return
	}
	n.note("is to leave")
	f.leaving = n
	f.draining(n)
}

// draining goes on until the node has nothing, and stops it then.
func (f *faults) draining(n *node) {
	switch {
	case f.w.calm: // it stays
		f.leaving = nil
	case f.replica(n) || !f.mayStop(n) || n.epoch == 0 || !f.spare(n):
		f.evacuate(n)
		f.w.after(leaveEvery, func() { f.draining(n) })
	default:
		f.down[n.host] = true
		n.stop(func(bool) { f.part(n, 0) })
	}
}

// bury ends a process for good, without order, and perhaps before anybody has noticed.
func (f *faults) bury(n *node, duration time.Duration) {
	if !f.mayLeave(n) || !f.mayStop(n) || !f.mayLose(n) {
		return
	}
	n.note("will not come back")
	f.leaving, f.lost = n, n
	f.down[n.host] = true
	f.weaken(n)
	n.kill()
	f.part(n, duration/2)
}

// part has the cluster forget a node that does not run, and moves its replicas elsewhere;
// or the node comes back, because something is only there.
func (f *faults) part(n *node, after time.Duration) {
	f.w.after(after, func() {
		delete(f.down, n.host)
		if n.replicas != nil || !f.spare(n) {
			f.stay(n)
			return
		}
		n.left, n.stopping = true, false
		f.unregister(n, func() { f.leave(n) })
	})
}

// stay has a node that was to leave go on.
func (f *faults) stay(n *node) {
	n.note("stays")
	f.leaving, n.left = nil, false
	if n.replicas == nil {
		n.start()
	}
}

// leave moves the replicas of a node that left elsewhere, until there are none.
func (f *faults) leave(n *node) {
	switch _, known := f.w.control.latest().Broker(n.id); {
	case known: // what was asked for was lost with the leader
		f.unregister(n, func() { f.leave(n) })
	case !f.replica(n):
		n.note("has left")
		f.w.churn.Left++
		f.leaving = nil
	case f.needed(n): // it was the last one in sync when it was forgotten
		f.stay(n)
	default:
		f.evacuate(n)
		f.w.after(leaveEvery, func() { f.leave(n) })
	}
}

// partitions calls do for every partition.
func (f *faults) partitions(do func(id meta.PartitionID, p *meta.Partition)) {
	for t := range f.w.control.latest().Topics() {
		for i := range t.Partitions {
			do(meta.PartitionID{Topic: t.ID, Partition: int32(i)}, &t.Partitions[i])
		}
	}
}

// replica reports whether a node is a replica of anything.
func (f *faults) replica(n *node) (is bool) {
	f.partitions(func(_ meta.PartitionID, p *meta.Partition) { is = is || slices.Contains(p.Replicas, n.id) })
	return is
}

// spare reports whether neither a partition nor the control log needs a node.
func (f *faults) spare(n *node) bool {
	return len(f.w.present()) > nodesLeast && f.w.control.canSpare(n.host) && !f.sole(n)
}

// sole reports whether nobody else is in sync with one of a node's partitions.
func (f *faults) sole(n *node) (sole bool) {
	f.partitions(func(_ meta.PartitionID, p *meta.Partition) {
		other := slices.ContainsFunc(p.ISR, func(id kafka.BrokerID) bool { return id != n.id })
		sole = sole || !other && slices.Contains(p.Replicas, n.id)
	})
	return sole
}

// needed reports whether only a node can lead one of its partitions.
func (f *faults) needed(n *node) (needed bool) {
	f.partitions(func(_ meta.PartitionID, p *meta.Partition) {
		needed = needed || p.Leader == kafka.NoBroker && len(p.ISR)+len(p.ELR) == 0 && slices.Contains(p.Replicas, n.id)
	})
	return needed
}

// evacuate asks for every replica of a node to be another's.
func (f *faults) evacuate(n *node) {
	if f.losing() && f.lost != n {
		return
	}
	all := f.staying()
	f.partitions(func(id meta.PartitionID, p *meta.Partition) {
		target := target(p)
		at := slices.Index(target, n.id)
		if at < 0 {
			return
		}
		begin := f.w.rand.IntN(len(all))
		for k := range all {
			if to := all[(begin+k)%len(all)]; !slices.Contains(target, to.id) {
				f.move(id, target, at, to)
				return
			}
		}
		f.assign(id, slices.Delete(target, at, at+1)) // everybody has it: one copy less
	})
}

// forget has the cluster forget a broker that is there, by mistake: it comes in again,
// and counts as one that has lost what it had.
func (f *faults) forget(n *node, _ time.Duration) {
	if n.replicas == nil || n.paused || f.losing() || f.asking || n == f.leaving || !f.mayLose(n) || f.sole(n) {
		return
	}
	f.w.churn.Forgotten++
	f.lost = n
	f.weaken(n)
	f.unregister(n, func() {})
}

// unregister has the cluster forget a broker, as somebody asks for who stands beside the
// control log's leader; then happens once it has, or never will.
func (f *faults) unregister(n *node, then func()) {
	c := f.w.control
	f.asking = true
	n.note("is unregistered")
	asked := c.ask(&proposal{term: c.term, command: &metadata.UnregisterBroker{ID: n.id}, decided: func(metadata.Result, int) {}})
	var wait func()
	wait = func() {
		if slices.Contains(c.open, asked) {
			f.w.after(retryAfter, wait)
			return
		}
		f.asking = false
		then()
	}
	f.w.after(retryAfter, wait)
}
