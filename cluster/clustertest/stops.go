package clustertest

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// mayStop reports whether one more node may be down: a minority is, and seldom more.
// Until what a node lost is where it should be, nobody else may stop: who was killed
// counts as one that may have lost records, and two of them at a time are more than the
// contract covers.
func (f *faults) mayStop(n *node) bool {
	if n.replicas == nil || n.paused || n.stopping || f.down[n.host] || f.losing() && f.lost != n {
		return false
	}
	down, all := 0, f.w.present()
	for _, o := range all {
		if o.replicas == nil {
			down++
		}
	}
	return down == 0 || down < len(all)-1 && f.w.chance(3)
}

// back starts a node again after a while.
func (f *faults) back(n *node, after time.Duration) {
	if f.w.calm {
		after = 0
	}
	f.down[n.host] = true
	f.w.after(after, func() {
		delete(f.down, n.host)
		if n.replicas == nil && !n.left {
			n.start()
		}
	})
}

// kill ends a process; its page cache stays.
func (f *faults) kill(n *node, duration time.Duration) {
	if f.mayStop(n) {
		n.kill()
		f.back(n, duration)
	}
}

// powerCut takes what was not on the disk, or everything that was.
func (f *faults) powerCut(n *node, duration time.Duration) {
	if !f.mayStop(n) || !f.mayLose(n) {
		f.kill(n, duration)
		return
	}
	f.lose(n, f.w.chance(4))
	if f.w.chance(3) {
		duration /= 20 // back before anybody noticed
	}
	f.back(n, duration)
}

// lose takes what is not on the disk of a node, or all that is.
func (f *faults) lose(n *node, disk bool) {
	n.powerCut()
	f.lost = n
	f.weaken(n)
	if disk {
		n.wipe()
	}
}

// mayLose reports whether a node may lose records. The contract says that one replica
// at a time may: another one that is in sync must have them, and all run. Partitions
// that may have a single replica in sync are not covered.
func (f *faults) mayLose(n *node) bool {
	for t := range f.w.control.latest().Topics() {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			others := slices.ContainsFunc(p.ISR, func(id kafka.BrokerID) bool { return id != n.id })
			if slices.Contains(p.Replicas, n.id) && !others && f.w.topics.specs[t.Name].minISR > 1 {
				return false
			}
		}
	}
	stopping := slices.ContainsFunc(f.w.present(), func(o *node) bool { return o.stopping })
	return !stopping && f.allRegistered()
}

// weaken takes what a node holds that the contract does not cover out of the checks.
func (f *faults) weaken(n *node) {
	for t := range f.w.control.latest().Topics() {
		for i := range t.Partitions {
			if f.w.topics.specs[t.Name].minISR < 2 && slices.Contains(t.Partitions[i].Replicas, n.id) {
				f.w.history.of(meta.PartitionID{Topic: t.ID, Partition: int32(i)}).loose = true
			}
		}
	}
}

// losing reports whether what a node lost is not yet where it should be.
func (f *faults) losing() bool {
	if f.lost != nil && f.recovered() {
		f.lost = nil
	}
	return f.lost != nil
}

// recovered reports whether the node that lost records is in sync again, or no longer
// needed: two others are.
func (f *faults) recovered() bool {
	if f.asking || !f.allRegistered() {
		return false
	}
	for t := range f.w.control.latest().Topics() {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			if slices.Contains(p.Replicas, f.lost.id) && !slices.Contains(p.ISR, f.lost.id) && len(p.ISR) < 2 {
				return false
			}
		}
	}
	return true
}

// allRegistered reports whether the cluster knows the present process of every node.
func (f *faults) allRegistered() bool {
	for _, n := range f.w.present() {
		if b, known := f.w.control.latest().Broker(n.id); n.replicas == nil || !known || b.Epoch != n.epoch {
			return false
		}
	}
	return true
}

// stop ends a process in order.
func (f *faults) stop(n *node, duration time.Duration) {
	if !f.mayStop(n) || n.epoch == 0 {
		return
	}
	n.stop(func(clean bool) {
		if clean && f.w.chance(2) {
			n.note("power cut while it is down")
			n.cutPower()
		}
		f.back(n, duration)
	})
}

// pause stops a process for a while, as SIGSTOP does.
func (f *faults) pause(n *node, duration time.Duration) {
	if n.replicas == nil || n.paused {
		return
	}
	n.note("pauses for %v", duration)
	n.paused = true
	inc := n.incarnation
	f.w.after(2*duration, func() {
		if n.incarnation == inc {
			n.resume()
		}
	})
}
