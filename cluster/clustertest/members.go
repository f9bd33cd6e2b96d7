package clustertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mortisemq/mortise/cluster/controller"
	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/replicatest"
)

// votersMost is how many voters the cluster has at most.
const votersMost = 5

// replaceVoterAfter is how long a voter may be away before another takes its place:
// short, for short runs.
const replaceVoterAfter = 6 * time.Second

// seat is a node that keeps the control log.
type seat struct {
	host  int
	votes bool
}

// members are all of them, in the order of their hosts. A list that is in use is not
// changed.
type members []seat

// find is where a host is, or would be.
func (m members) find(host int) (int, bool) {
	return slices.BinarySearchFunc(m, host, func(m seat, host int) int { return m.host - host })
}

// have reports whether a host is a member.
func (m members) have(host int) bool {
	_, ok := m.find(host)
	return ok
}

// with are the members once a host is one, with a vote or without.
func (m members) with(host int, votes bool) members {
	i, ok := m.find(host)
	next := slices.Clone(m)
	if !ok {
		next = slices.Insert(next, i, seat{host: host})
	}
	next[i].votes = votes
	return next
}

// after are the members after a change.
func (m members) after(a controller.VoterChange) members {
	host := int(a.ID)
	if a.Kind != controller.Remove {
		return m.with(host, a.Kind == controller.Promote)
	}
	return slices.DeleteFunc(slices.Clone(m), func(m seat) bool { return m.host == host })
}

// voters is how many vote.
func (m members) voters() (n int) {
	for _, v := range m {
		if v.votes {
			n++
		}
	}
	return n
}

// healthy reports whether a host could decide: it votes, runs and reaches a majority.
func (c *control) healthy(host int) bool { return c.decides(host, c.members) }

// decides reports whether a host could decide if those were the members.
func (c *control) decides(host int, m members) bool {
	i, ok := m.find(host)
	if !ok || !m[i].votes || !c.w.nodes[host].awake() {
		return false
	}
	reached := 0
	for _, v := range m {
		if v.votes && c.w.nodes[v.host].awake() && c.w.net.reaches(host, v.host) {
			reached++
		}
	}
	return reached > m.voters()/2
}

// awake reports whether a process runs and does not stand still.
func (n *node) awake() bool { return n.replicas != nil && !n.paused }

// join has a node be a member, without a vote at first; then happens when it is one.
func (c *control) join(n *node, then func()) {
	if c.members.have(n.host) {
		then()
		return
	}
	again := func() { n.later(retryAfter, func() { c.join(n, then) }) }
	leader := c.leader
	if leader == noHost {
		again()
		return
	}
	c.w.net.call(n.host, leader, nil, controlTimeout, func(reply func(any)) {
		if c.leader != leader {
			reply(nil)
			return
		}
		c.ask(&proposal{term: c.term, change: func() { c.admit(n) }, decided: func(metadata.Result, int) { reply(true) }})
	}, func(any, bool) { again() })
}

// admit makes a node a member, unless it is one.
func (c *control) admit(n *node) {
	if !c.members.have(n.host) {
		c.members = c.members.with(n.host, false)
		c.w.note("control: node %d is a member", n.id)
	}
}

// change has a vote given or taken, or a member go, as raft does it: a majority of those
// who vote afterwards must agree. It is done or not when the leader is lost meanwhile,
// and who asked may not hear of it.
func (c *control) change(a controller.VoterChange, done func(error)) {
	if int(a.ID) == c.leader { // which hands on first
		if !c.electBut(c.leader) {
			done(errors.New("nobody else could lead"))
		}
		return
	}
	if !c.decides(c.leader, c.members.after(a)) {
		c.w.after(electAfter, func() { done(errors.New("not agreed on")) })
		return
	}
	var err error
	apply := func() {
		if _, known := c.latest().Broker(a.ID); a.Kind == controller.Remove && known {
			err = errors.New("it is registered")
			return
		}
		if c.w.bug == replicatest.KeepVotes && a.Kind != controller.Promote {
			return
		}
		c.w.churn.Votes++
		c.members = c.members.after(a)
		c.w.note("control: %v: %v", a, c.members)
	}
	c.ask(&proposal{term: c.term, change: apply, decided: func(metadata.Result, int) {
		if !c.w.calm && c.w.chance(10) {
			err = errors.New("the time is over")
		}
		done(err)
	}})
}

// canSpare reports whether the control log can do without a host for good: nothing about
// its members is under way, and a majority of the voters is left and runs.
func (c *control) canSpare(host int) bool {
	if slices.ContainsFunc(c.open, func(p *proposal) bool { return p.change != nil }) || c.members.voters()%2 == 0 {
		return false
	}
	run := 0
	for _, v := range c.members {
		if v.votes && v.host != host && c.w.nodes[v.host].replicas != nil {
			run++
		}
	}
	return run > c.members.voters()/2
}

// unsettled says what is not well with the members; empty: all is. An odd number votes,
// and all who are members are there.
func (c *control) unsettled() string {
	present := c.w.present()
	want := min(votersMost, len(present)-(len(present)+1)%2)
	if n := c.members.voters(); n != want {
		return fmt.Sprintf("%d of %d nodes vote, not %d", n, len(present), want)
	}
	for _, m := range c.members {
		if c.w.nodes[m.host].left {
			return fmt.Sprintf("node %d left, and is a member of the control log, votes %v", m.host, m.votes)
		}
	}
	return ""
}

// list is the members as the controller knows them.
func (c *control) list() []controller.Member {
	all := make([]controller.Member, 0, len(c.members))
	for _, m := range c.members {
		answers := c.w.nodes[m.host].awake() && c.w.net.reaches(c.leader, m.host)
		all = append(all, controller.Member{ID: kafka.BrokerID(m.host), Voter: m.votes, Answers: answers})
	}
	return all
}
