package clustertest

import "time"

// cut cuts a node off: from one other or from all, both ways or one.
func (f *faults) cut(n *node, duration time.Duration) {
	only := noHost
	if f.w.chance(2) {
		only = f.w.rand.IntN(len(f.w.nodes))
	}
	out, in := true, true
	switch f.w.rand.IntN(3) {
	case 0:
		out = false
	case 1:
		in = false
	}
	n.note("cut off from %d, out %v, in %v, for %v", only, out, in, duration)
	for _, o := range f.w.nodes {
		if o == n || only != noHost && o.host != only {
			continue
		}
		if out {
			f.cutLink(n.host, o.host, duration)
		}
		if in {
			f.cutLink(o.host, n.host, duration)
		}
	}
}

// cutLink cuts one direction for a while.
func (f *faults) cutLink(from, to int, duration time.Duration) {
	l := f.w.net.link(from, to)
	l.cut = true
	f.w.after(duration, func() { l.cut = false })
}

// slow delays what a node says and hears, and loses some of it.
func (f *faults) slow(n *node, duration time.Duration) {
	delay := f.w.between(10*time.Millisecond, 1500*time.Millisecond)
	loss := float64(f.w.rand.IntN(20)) / 100
	n.note("slow by %v, loses %v, for %v", delay, loss, duration)
	for _, o := range f.w.nodes {
		for _, l := range []*link{f.w.net.link(n.host, o.host), f.w.net.link(o.host, n.host)} {
			l.slow, l.loss = delay, loss
			f.w.after(duration, func() { l.slow, l.loss = 0, 0 })
		}
	}
}

// jump moves a node's clock.
func (f *faults) jump(n *node, _ time.Duration) {
	n.skew = f.w.between(-time.Minute, time.Minute)
	n.note("clock is off by %v", n.skew)
}

// fill makes a node's disk full for a while.
func (f *faults) fill(n *node, duration time.Duration) {
	n.note("disk is full for %v", duration)
	n.machine.Fill(true)
	f.w.after(duration, func() { n.machine.Fill(false) })
}

// control makes the control log slow, or takes its leader away.
func (f *faults) control(_ *node, duration time.Duration) {
	c := f.w.control
	if f.w.chance(2) {
		c.elect()
		return
	}
	c.slow = f.w.between(10*time.Millisecond, 2*time.Second)
	f.w.note("control: slow by %v for %v", c.slow, duration)
	f.w.after(duration, func() { c.slow = 0 })
}
