package clustertest

import (
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/meta"
)

// The times of the control log.
const (
	electAfter  = time.Second
	watchEvery  = 250 * time.Millisecond
	sessionTime = 9 * time.Second
	noHost      = -1
	agreeWithin = 5 * time.Millisecond // the most that a decision takes to be agreed on
)

// control is the control log: a list of decisions that all nodes see in one order. It
// is linearizable, as raft makes it, but slow at times; it loses its leader, and with
// it decisions that were under way; and answers get lost.
type control struct {
	w       *world
	members members
	images  []*meta.Image // by index; 0 is the empty one
	leader  int           // host; noHost: none
	began   int           // incarnation of the leader's process
	term    int
	sick    time.Duration // since when the leader can't decide; 0: it can
	slow    time.Duration // added to each decision, as the most

	open  []*proposal      // of the present term, in order
	late  bool             // what is appended now is what a bug repeats
	asked metadata.Command // what is appended now, for bugs
	duty  *duty            // what the leader does beside deciding; nil: there was none yet
}

// proposal is a decision under way.
type proposal struct {
	term    int
	command metadata.Command
	change  func() // of the members, instead of a command
	decided func(metadata.Result, int)
}

func newControl(w *world, nodes int) *control {
	c := &control{w: w, images: []*meta.Image{meta.Empty("")}, leader: noHost}
	for i := range nodes {
		c.members = append(c.members, seat{host: i, votes: i < 3})
	}
	return c
}

// begin makes the cluster and its first leader.
func (c *control) begin() {
	c.elect()
	c.append(&metadata.Bootstrap{ClusterID: "simulated"})
	c.watch()
}

// latest is the newest image there is.
func (c *control) latest() *meta.Image { return c.images[len(c.images)-1] }

// watch elects a new leader when the present one can't decide for a while, tells nodes
// what they missed, and looks at sessions.
func (c *control) watch() {
	c.w.after(watchEvery, c.watch)
	switch {
	case c.leader == noHost, c.w.nodes[c.leader].incarnation != c.began: // it has been started anew
		c.elect()
	case c.healthy(c.leader):
		c.sick = 0
		c.agree() // on what could not be agreed on when its time came
		c.spread()
		c.duty.tick()
	case c.sick == 0:
		c.sick = c.w.now
	case c.w.now-c.sick > electAfter:
		c.elect()
	}
}

// elect chooses a leader among those who could decide, and reports whether there is one.
// What the one before had under way is decided or not, in its order.
func (c *control) elect() bool { return c.electBut(noHost) }

// electBut elects anybody but a host.
func (c *control) electBut(host int) bool {
	var could []int
	for _, m := range c.members {
		if m.host != host && c.healthy(m.host) {
			could = append(could, m.host)
		}
	}
	if len(could) == 0 {
		return false
	}
	c.term++
	c.leader, c.sick = could[c.w.rand.IntN(len(could))], 0
	c.w.note("control: node %d decides, term %d", c.leader, c.term)
	c.began = c.w.nodes[c.leader].incarnation
	c.duty = newDuty(c)
	kept := c.open[:min(len(c.open), c.w.rand.IntN(len(c.open)+1))]
	c.open = nil
	for _, p := range kept {
		c.do(p) // nobody is told
	}
	return true
}

// propose asks the leader to decide. done tells the outcome, ok false: it is not
// known.
func (c *control) propose(from int, command metadata.Command, done func(metadata.Result, int, bool)) {
	type decided struct {
		result metadata.Result
		index  int
	}
	leader := c.leader
	if leader == noHost {
		inc, _ := c.w.up(from)
		c.w.after(retryAfter, func() { c.w.runOn(from, inc, func() { done(metadata.Result{}, 0, false) }) })
		return
	}
	c.w.net.call(from, leader, nil, controlTimeout, func(reply func(any)) {
		if c.leader != leader {
			reply(nil)
			return
		}
		c.decide(command, func(r metadata.Result, index int) {
			if c.w.calm || !c.w.chance(50) { // else the answer is lost
				reply(decided{r, index})
			}
		})
	}, func(answer any, ok bool) {
		d, is := answer.(decided)
		done(d.result, d.index, ok && is)
	})
}

// decide has a command agreed on after a while.
func (c *control) decide(command metadata.Command, decided func(metadata.Result, int)) {
	c.ask(&proposal{term: c.term, command: command, decided: decided})
}

// ask has a proposal agreed on, unless the leader is lost meanwhile.
func (c *control) ask(p *proposal) *proposal {
	c.open = append(c.open, p)
	delay := c.w.between(time.Millisecond, agreeWithin)
	if c.slow > 0 {
		delay += c.w.between(0, c.slow)
	}
	c.w.after(delay, c.agree)
	return p
}

// agree decides what is under way, in its order.
func (c *control) agree() {
	if c.leader == noHost || c.w.nodes[c.leader].incarnation != c.began || !c.healthy(c.leader) {
		return // the next agree, or the next leader
	}
	open := c.open
	c.open = nil
	for _, p := range open {
		r := c.do(p)
		p.decided(r, len(c.images)-1)
	}
	c.spread()
}

// do does what was agreed on.
func (c *control) do(p *proposal) metadata.Result {
	if p.change != nil {
		p.change()
		return metadata.Result{}
	}
	return c.append(p.command)
}

// append makes the next image. It is one for all nodes: applying is deterministic.
func (c *control) append(command metadata.Command) metadata.Result {
	old := c.latest()
	c.plant(old, command)
	next, result := metadata.Apply(old, max(uint64(len(c.images)), old.Index+1), command)
	if next = c.spoil(old, next); next.Index > uint64(len(c.images)) {
		c.images = append(c.images, next) // what a bug makes counts twice
	}
	c.images = append(c.images, next)
	c.w.note("control %d: %T %+v", len(c.images)-1, command, command)
	c.w.image.check(old, next)
	if c.duty != nil {
		c.duty.news()
	}
	return result
}

// spread tells every node the newest index.
func (c *control) spread() {
	index := len(c.images) - 1
	for _, n := range c.w.nodes {
		if n.replicas == nil || n.index >= index || !c.members.have(n.host) {
			continue
		}
		inc := n.incarnation
		c.w.net.deliver(c.leader, n.host, nil, func() { n.run(inc, func() { n.learn(index) }) })
	}
}
