package clustertest

import (
	"time"

	"github.com/mortisemq/mortise/cluster/controller"
	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
)

// duty is what the control log's leader does in one term beside deciding: controller's
// machine, with what controller.Loop does around it.
type duty struct {
	c       *control
	node    *node
	term    int
	machine *controller.Machine
}

func newDuty(c *control) *duty {
	d := &duty{c: c, node: c.w.nodes[c.leader], term: c.term}
	d.machine = controller.NewMachine(controller.Config{Self: d.node.id, RebalanceInterval: 7 * time.Second, VoterReplaceAfter: replaceVoterAfter}, d.node.now(), c.latest())
	return d
}

// over reports whether the term has ended.
func (d *duty) over() bool { return d.c.term != d.term }

// run has f happen in the leader's process, and begins what the machine wants then.
func (d *duty) run(f func()) {
	d.node.run(d.node.incarnation, func() {
		if !d.over() {
			f()
			d.begin()
		}
	})
}

// tick lets time pass. Gossip does not find who is down, stands still or is cut off.
func (d *duty) tick() {
	d.run(func() {
		var lost []kafka.BrokerID
		for _, n := range d.c.w.nodes {
			if n.replicas == nil || n.paused || !d.c.w.net.reaches(d.node.host, n.host) {
				lost = append(lost, n.id)
			}
		}
		d.machine.Lost(d.node.now(), lost)
		d.machine.Members(d.node.now(), d.c.list())
		d.machine.Tick(d.node.now())
	})
}

// news is a newer image, a moment later.
func (d *duty) news() {
	d.c.w.after(0, func() {
		d.run(func() { d.machine.Image(d.node.now(), d.c.latest()) })
	})
}

// begin does what the machine wants.
func (d *duty) begin() {
	for _, a := range d.machine.Ready() {
		d.c.w.note("controller: %v", a)
		switch a := a.(type) {
		case controller.Decide:
			d.c.decide(a.Command, func(r metadata.Result, _ int) {
				d.run(func() {
					d.machine.Image(d.node.now(), d.c.latest())
					d.machine.Decided(d.node.now(), a, asError(r.Err))
				})
			})
		case controller.Ping:
			d.ping(a)
		case controller.VoterChange:
			d.c.change(a, func(err error) {
				d.run(func() { d.machine.Changed(d.node.now(), a, err) })
			})
		}
	}
}

// asError is an error, or none.
func asError(err *kafka.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// ping asks a node whether it is there.
func (d *duty) ping(a controller.Ping) {
	to := d.c.w.nodes[a.ID]
	d.c.w.net.call(d.node.host, to.host, nil, controller.PingTimeout, func(reply func(any)) { reply(true) }, func(_ any, ok bool) {
		d.run(func() { d.machine.Pong(d.node.now(), a.ID, ok) })
	})
}

// heartbeat is a node's sign of life; told gets the leader's answer, if one comes.
func (c *control) heartbeat(n *node, told func(controller.Answer)) {
	leader, d := c.leader, c.duty
	if leader == noHost {
		return
	}
	h := controller.Heartbeat{ID: n.id, Epoch: n.epoch, Applied: n.image.Index, Stopping: n.stopping, Full: n.full}
	c.w.net.call(n.host, leader, nil, heartbeatEvery, func(reply func(any)) {
		if !d.over() {
			reply(d.machine.Heartbeat(d.node.now(), h))
			d.begin()
		}
	}, func(answer any, ok bool) {
		if a, is := answer.(controller.Answer); ok && is {
			told(a)
		}
	})
}
