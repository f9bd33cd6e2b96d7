package clustertest

import (
	"fmt"
	"time"

	"github.com/mortisemq/mortise/cluster/controller"
	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/replicatest"
)

// The intervals of a node.
const (
	tickEvery      = 500 * time.Millisecond
	heartbeatEvery = 2 * time.Second
	lagMax         = 3 * time.Second // replica.lag.time.max.ms, short for short runs
	fetchWait      = 500 * time.Millisecond
	fetchTimeout   = 2 * time.Second
	controlTimeout = 3 * time.Second
	retryAfter     = 200 * time.Millisecond
	stopTimeout    = 8 * time.Second
)

// wallStart is what the nodes' clocks show at the start.
var wallStart = time.UnixMilli(1_700_000_000_000)

// node is a broker's machine and the process on it.
type node struct {
	w       *world
	host    int
	id      kafka.BrokerID
	machine replicatest.Machine

	incarnation int
	replicas    replicatest.Replicas // nil: no process
	epoch       kafka.BrokerEpoch    // 0: not registered yet
	image       *meta.Image          // what the process knows
	index       int                  // of image in the control log
	waiting     []waiting
	proposals   []meta.ISRChange // to send
	parked      []*parked
	stopping    bool
	torn        bool // the power was cut before it started

	paused   bool
	deferred []func()
	skew     time.Duration // of the clock
}

// waiting is somebody who waits for an image.
type waiting struct {
	index int
	run   func()
}

// parked is a follower's fetch that waits on its leader.
type parked struct {
	from     kafka.BrokerID
	body     any
	deadline time.Duration
	reply    func(any)
}

func (n *node) now() time.Time { return wallStart.Add(n.w.now + n.skew) }

// run has f happen in a process: later when it is paused, never when it is gone.
func (n *node) run(incarnation int, f func()) {
	if incarnation != n.incarnation || n.replicas == nil {
		return
	}
	if n.paused {
		n.deferred = append(n.deferred, func() { n.run(incarnation, f) })
		return
	}
	f()
	n.settle()
}

// later has f happen in this process once d has passed.
func (n *node) later(d time.Duration, f func()) {
	inc := n.incarnation
	n.w.after(d, func() { n.run(inc, f) })
}

// start begins a process.
func (n *node) start() {
	n.incarnation++
	n.epoch, n.waiting, n.proposals, n.parked, n.stopping = 0, nil, nil, nil, false
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
	n.replicas = replicas
	previous, clean := replicas.CleanEpoch()
	n.note("started, clean %v", clean)
	n.register(previous, clean)
	n.later(tickEvery, n.tick)
}

// register makes the process known to the cluster, and plays its roles afterwards.
func (n *node) register(previous kafka.BrokerEpoch, clean bool) {
	c := &metadata.RegisterBroker{ID: n.id, CleanShutdown: clean, PreviousEpoch: previous}
	n.w.control.lie(n, c)
	n.propose(c, func(r metadata.Result, ok bool) {
		if !ok || r.BrokerEpoch <= 0 {
			n.later(retryAfter, func() { n.register(previous, clean) })
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

// propose has the control log decide; done happens when the image here has it.
func (n *node) propose(c metadata.Command, done func(metadata.Result, bool)) {
	n.w.control.propose(n.host, c, func(r metadata.Result, index int, ok bool) {
		if !ok {
			done(r, false)
			return
		}
		n.waitFor(index, func() { done(r, true) })
	})
}

// waitFor runs f when the image of index is here.
func (n *node) waitFor(index int, f func()) {
	if n.index >= index {
		f()
		return
	}
	n.waiting = append(n.waiting, waiting{index, f})
}

// learn is news of the control log.
func (n *node) learn(index int) {
	if index <= n.index {
		return
	}
	n.index, n.image = index, n.w.control.images[index]
	if n.epoch != 0 {
		n.replicas.Apply(n.image)
	}
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

// heartbeat keeps the session, and registers again when the cluster does not know this
// process.
func (n *node) heartbeat() {
	n.later(heartbeatEvery, n.heartbeat)
	n.beat(func(controller.Answer) {})
}

// beat is one heartbeat.
func (n *node) beat(told func(controller.Answer)) {
	n.w.control.heartbeat(n, func(a controller.Answer) {
		if a.Status != controller.Known {
			n.note("epoch %d is not known", n.epoch)
			n.register(n.epoch, false)
		}
		told(a)
	})
}

func (n *node) tick() {
	n.replicas.Tick()
	n.later(tickEvery, n.tick)
}

// settle does what follows from an event: sends what wants to be sent, answers who
// can be answered, and has the checkers look.
func (n *node) settle() {
	if n.replicas == nil {
		return
	}
	rest := n.parked[:0]
	for _, p := range n.parked {
		answer, ready := n.replicas.Serve(p.from, p.body, true)
		if ready || n.w.now >= p.deadline {
			p.reply(answer)
		} else {
			rest = append(rest, p)
		}
	}
	n.parked = rest
	for _, q := range n.replicas.Fetches() {
		n.fetch(q)
	}
	for _, c := range n.proposals {
		n.alterISR(c)
	}
	n.proposals = n.proposals[:0]
	n.w.history.look(n)
}

// fetch sends a follower's request.
func (n *node) fetch(q replicatest.Request) {
	if int(q.To) >= len(n.w.nodes) {
		n.later(retryAfter, func() { n.replicas.Answered(q, nil) })
		return
	}
	leader := n.w.nodes[q.To]
	n.w.net.call(n.host, leader.host, nil, fetchTimeout, func(reply func(any)) {
		leader.serve(n.id, q.Body, reply)
	}, func(answer any, _ bool) { n.replicas.Answered(q, answer) })
}

// serve answers a follower's request, now or when there is something for it.
func (n *node) serve(from kafka.BrokerID, body any, reply func(any)) {
	if n.epoch == 0 {
		reply(nil)
		return
	}
	rest := n.parked[:0]
	for _, p := range n.parked { // a leader answers what waits when the same follower comes again
		if p.from == from {
			waited, _ := n.replicas.Serve(p.from, p.body, true)
			p.reply(waited)
		} else {
			rest = append(rest, p)
		}
	}
	n.parked = rest
	answer, ready := n.replicas.Serve(from, body, false)
	if ready {
		reply(answer)
		return
	}
	n.parked = append(n.parked, &parked{from, body, n.w.now + fetchWait, reply})
	n.later(fetchWait, func() {})
}

// alterISR has the control log decide about an ISR, again and again if it must.
func (n *node) alterISR(c meta.ISRChange) {
	cmd := metadata.NewAlterISR(n.id, n.epoch, []meta.ISRChange{c})
	n.propose(cmd, func(r metadata.Result, ok bool) {
		result := meta.ISRResult{Err: kafka.ErrRequestTimedOut.Err("")}
		switch {
		case ok && r.Err != nil:
			result.Err = r.Err
		case ok:
			result = r.ISR[0]
		}
		if n.replicas.ISRAnswered(c, result) {
			n.later(retryAfter, func() { n.alterISR(c) })
		}
	})
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
		n.note("stopped, err %v", err)
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

// state is a replica here.
func (n *node) state(id meta.PartitionID) (replicatest.State, bool) {
	if n.replicas == nil {
		return replicatest.State{}, false
	}
	return n.replicas.State(id)
}

// hasFailed reports whether a disk of the process failed.
func (n *node) hasFailed() bool {
	for _, id := range n.replicas.Held() {
		if s, ok := n.replicas.State(id); ok && s.Failed {
			return true
		}
	}
	return false
}

// unsettled says what is not well here; empty: all is.
func (n *node) unsettled() string {
	switch b, known := n.w.control.latest().Broker(n.id); {
	case n.replicas == nil:
		return fmt.Sprintf("node %d does not run", n.id)
	case !known || b.Fenced || b.Epoch != n.epoch:
		return fmt.Sprintf("node %d is not in the cluster", n.id)
	case n.image != n.w.control.latest():
		return fmt.Sprintf("node %d has an old image", n.id)
	}
	return ""
}

// tell is where the process writes what it does; nil: nobody reads it.
func (n *node) tell() func(line string) {
	if n.w.trace == nil {
		return nil
	}
	return func(line string) { fmt.Fprintf(n.w.trace, "%12v    node %d %s\n", n.w.now, n.id, line) }
}

func (n *node) note(format string, args ...any) {
	n.w.note("node %d: "+format, append([]any{n.id}, args...)...)
}
