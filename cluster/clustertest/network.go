package clustertest

import (
	"math/rand/v2"
	"time"
)

// network carries messages between hosts: brokers by their index, then clients. A
// link keeps its order, as a connection does; what is lost is lost for good.
type network struct {
	loop  *loop
	rand  *rand.Rand
	links map[[2]int]*link
	base  time.Duration // the least delay of a message
	up    func(host int) (incarnation int, up bool)
	run   func(host, incarnation int, f func()) // now, later (paused), or never (gone)
}

// link is one direction between two hosts.
type link struct {
	cut  bool
	slow time.Duration // added to each message's delay, as the most
	loss float64
	last time.Duration // when the message before arrives
}

func newNetwork(l *loop, r *rand.Rand) *network {
	return &network{loop: l, rand: r, links: map[[2]int]*link{}, base: 200 * time.Microsecond}
}

// link is the state of a direction.
func (n *network) link(from, to int) *link {
	l := n.links[[2]int{from, to}]
	if l == nil {
		l = &link{}
		n.links[[2]int{from, to}] = l
	}
	return l
}

// heal repairs all links.
func (n *network) heal() {
	for _, l := range n.links {
		l.cut, l.slow, l.loss = false, 0, 0
	}
}

// reaches reports whether messages go both ways.
func (n *network) reaches(a, b int) bool {
	return a == b || !n.link(a, b).cut && !n.link(b, a).cut
}

// stream is a connection: what comes after something that was lost is lost, too.
type stream struct{ broken bool }

// deliver has f happen after a message's way, if it arrives. on is the connection that
// it belongs to; nil: one of its own.
func (n *network) deliver(from, to int, on *stream, f func()) {
	if on == nil {
		on = &stream{}
	}
	if from == to {
		n.loop.after(0, f)
		return
	}
	l := n.link(from, to)
	delay := n.base + time.Duration(n.rand.Int64N(int64(n.base)))
	if l.slow > 0 {
		delay += time.Duration(n.rand.Int64N(int64(l.slow)))
	}
	on.broken = on.broken || l.cut || l.loss > 0 && n.rand.Float64() < l.loss
	l.last = max(l.last, n.loop.now+delay)
	if on.broken {
		return
	}
	n.loop.at(l.last, func() {
		if on.broken = on.broken || l.cut; !on.broken {
			f()
		}
	})
}

// call asks a host. serve happens there, and its reply, which may come later, brings
// back what the asker is told; done happens once, with ok false when no answer came in
// time. Nothing happens on a host whose process is another one by then.
func (n *network) call(from, to int, on *stream, timeout time.Duration, serve func(reply func(any)), done func(answer any, ok bool)) {
	asker, _ := n.up(from)
	over := false
	finish := func(answer any, ok bool) {
		if over {
			return
		}
		over = true
		n.run(from, asker, func() { done(answer, ok) })
	}
	n.loop.after(timeout, func() { finish(nil, false) })
	n.deliver(from, to, on, func() {
		server, up := n.up(to)
		if !up { // refused
			n.deliver(to, from, nil, func() { finish(nil, false) })
			return
		}
		n.run(to, server, func() {
			serve(func(answer any) {
				n.deliver(to, from, nil, func() { finish(answer, true) })
			})
		})
	})
}
