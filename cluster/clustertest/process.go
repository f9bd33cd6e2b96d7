package clustertest

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/cluster/controller"
	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/replicatest"
)

// start begins a process.
func (n *node) start() {
	n.incarnation++
	n.epoch, n.waiting, n.proposals, n.parked, n.stopping, n.owes, n.full = 0, nil, nil, nil, false, false, false
	replicas, err := n.machine.Start(replicatest.Env{
		ID: n.id, Now: n.now, LagMax: lagMax, Bug: n.w.bug,
		ProposeISR: func(c meta.ISRChange) { n.proposals = append(n.proposals, c) }, Trace: n.tell(),
	})
	if err != nil {
		n.note("did not start: %v", err)
		n.w.after(time.Second, func() {
			if n.replicas == nil && !n.w.faults.stopped(n) {
				n.start()
			}
		})
		return
	}
	n.replicas, n.answered = replicas, n.w.now
	previous, clean := replicas.CleanEpoch()
	n.note("started, clean %v", clean)
	n.register(previous, clean)
	n.later(tickEvery, n.tick)
}

// register makes the process known to the cluster, and plays its roles afterwards.
func (n *node) register(previous kafka.BrokerEpoch, clean bool) {
	c := &metadata.RegisterBroker{ID: n.id, CleanShutdown: clean, PreviousEpoch: previous,
		LogDirs: []kafka.TopicID{n.disk()}, Missing: n.missing()}
	n.w.control.lie(n, c)
	n.w.control.join(n, func() { n.enrol(c) })
}

// enrol registers a member of the control log.
func (n *node) enrol(c *metadata.RegisterBroker) {
	n.propose(c, func(r metadata.Result, ok bool) {
		if !ok || r.BrokerEpoch <= 0 {
			n.later(retryAfter, func() { n.register(c.PreviousEpoch, c.CleanShutdown) })
			return
		}
		first := n.epoch == 0
		n.epoch = r.BrokerEpoch
		n.note("registered, epoch %d", n.epoch)
		n.replicas.Registered(n.epoch)
		n.replicas.Apply(n.image)
		if first {
			n.later(0, n.heartbeat)
		}
	})
}

// disk is the id of a node's log directory.
func (n *node) disk() kafka.TopicID { return kafka.TopicID{1: byte(n.host), 2: byte(n.disks), 15: 1} }

// missing is what a broker with a new disk should have and has not.
func (n *node) missing() (all []metadata.PartitionID) {
	img := n.w.control.latest()
	if b, known := img.Broker(n.id); !known || slices.Contains(b.LogDirs, n.disk()) {
		return nil
	}
	n.w.faults.partitions(func(id meta.PartitionID, _ *meta.Partition) {
		if img.Expects(n.id, id) {
			all = append(all, metadata.PartitionID(id))
		}
	})
	return all
}

// learn is news of the control log.
func (n *node) learn(index int) {
	if index <= n.index || n.w.now < n.behind {
		return
	}
	n.index, n.image = index, n.w.control.images[index]
	n.takeRoles()
	rest := n.waiting[:0]
	var ready []func()
	for _, wait := range n.waiting {
		if wait.index <= index {
			ready = append(ready, wait.run)
		} else {
			rest = append(rest, wait)
		}
	}
	n.waiting = rest
	inc := n.incarnation
	for _, f := range ready {
		if n.incarnation == inc { // else one of them ended the process
			f()
		}
	}
}

// takeRoles has the replicas take the roles of the newest image, later when the process
// is busy with those of one before: only the newest counts then.
func (n *node) takeRoles() {
	switch {
	case n.epoch == 0 || n.owes:
	case n.w.now < n.busy:
		n.owes = true
		n.later(n.busy-n.w.now, func() {
			n.owes = false
			n.takeRoles()
		})
	default:
		n.replicas.Apply(n.image)
	}
}

// heartbeat keeps the session, and registers again when the cluster does not know this
// process.
func (n *node) heartbeat() {
	n.later(heartbeatEvery, n.heartbeat)
	n.beat(func(controller.Answer) {})
}

// beat is one heartbeat, if the node is a member of the control log: it finds no leader
// else.
func (n *node) beat(told func(controller.Answer)) {
	if !n.w.control.members.have(n.host) {
		return
	}
	n.w.control.heartbeat(n, func(a controller.Answer) {
		if a.Status != controller.Known {
			n.note("epoch %d is not known", n.epoch)
			n.register(n.epoch, a.Status == controller.Unknown) // as session.Again
		}
		n.answered = n.w.now
		told(a)
	})
}

// tick lets time pass. Who was removed from the control log when it registered asks to be
// let in after a while, as controller.Beater does.
func (n *node) tick() {
	if n.w.now-n.answered >= rejoinAfter && !n.w.control.members.have(n.host) {
		n.answered = n.w.now
		n.w.control.join(n, func() {})
	}
	n.replicas.Tick()
	if full := n.replicas.Full(); full != n.full {
		n.note("disk full: %v", full)
		if n.full = full; n.epoch != 0 {
			n.beat(func(controller.Answer) {}) // told at once, as by controller.Beater
		}
	}
	n.later(tickEvery, n.tick)
}

// kill ends the process at once; powerCut also takes what was not on the disk.
func (n *node) kill() {
	n.note("killed")
	n.replicas.Kill()
	n.gone()
}

func (n *node) powerCut() {
	n.note("power cut")
	n.replicas.Kill()
	n.gone()
	n.cutPower()
}

// cutPower takes what is not on the disk of a machine without a process.
func (n *node) cutPower() {
	n.machine.PowerCut(n.w.rand)
	n.torn = true
}

// wipe empties the disk of a machine without a process: it knows nothing any more.
func (n *node) wipe() {
	n.note("comes back with an empty disk")
	n.machine.Wipe()
	n.disks++
	n.index, n.image = 0, meta.Empty("")
}

// gone forgets the process.
func (n *node) gone() {
	n.replicas, n.deferred, n.paused, n.torn = nil, nil, false, false
	n.incarnation++
	n.w.history.ended(n)
}

// restart kills and starts.
func (n *node) restart() {
	n.kill()
	n.start()
}

// resume lets a paused process go on.
func (n *node) resume() {
	if !n.paused {
		return
	}
	n.note("goes on")
	n.paused = false
	todo := n.deferred
	n.deferred = nil
	for _, f := range todo {
		f()
	}
}

// stop ends the process in order: leaders move first, as far as they can in time.
func (n *node) stop(then func(clean bool)) {
	n.stopping = true
	over := false
	end := func() {
		if over {
			return
		}
		over = true
		err := n.replicas.Stop()
		n.note("stopped, clean %v", err == nil)
		if tell := n.tell(); tell != nil && err != nil {
			tell(err.Error()) // of several partitions in any order: no part of what makes a seed one run
		}
		n.gone()
		then(err == nil)
	}
	n.later(stopTimeout, end)
	n.leave(end)
}

// leave says that the process wants to stop, until it may.
func (n *node) leave(end func()) {
	n.beat(func(a controller.Answer) {
		if a.Stop {
			end()
		}
	})
	n.later(retryAfter, func() { n.leave(end) })
}
