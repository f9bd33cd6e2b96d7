package clustertest

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/replicatest"
)

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
	proposals := n.proposals
	n.proposals = nil
	for _, c := range proposals {
		if d := n.w.faults.ambush(n, &c); d > 0 {
			n.later(d, func() { n.alterISR(c) })
		} else {
			n.alterISR(c)
		}
	}
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
			if result = r.ISR[0]; c.Full && !slices.Contains(result.State.ISR, n.id) {
				n.w.churn.Full++
			}
		}
		if n.replicas.ISRAnswered(c, result) {
			n.later(retryAfter, func() { n.alterISR(c) })
		}
	})
}
