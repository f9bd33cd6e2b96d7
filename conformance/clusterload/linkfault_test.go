package clusterload_test

import (
	"math/rand/v2"
	"time"
)

// slowest is how long a slow link holds a packet at most.
const slowest = 300 * time.Millisecond

// directions of packets, seen from the node that is broken.
type directions struct{ in, out bool }

// linkFaults are those of wires: packets are lost, and nobody is told.
func linkFaults() []fault {
	both := directions{true, true}
	return []fault{
		cutFault("cut off from the nodes", both, func(w *world, _ *rand.Rand, id int32) []int32 { return w.others(id) }),
		cutFault("cut off from all", both, func(w *world, _ *rand.Rand, id int32) []int32 { return append(w.others(id), host) }),
		cutFault("hears no node", directions{in: true}, func(w *world, _ *rand.Rand, id int32) []int32 { return w.others(id) }),
		cutFault("heard by no node", directions{out: true}, func(w *world, _ *rand.Rand, id int32) []int32 { return w.others(id) }),
		cutFault("cut off from one node", both, (*world).anotherOne),
		cutFault("hears one node not", directions{in: true}, (*world).anotherOne),
		{name: "slow links", breaking: func(w *world, r *rand.Rand, id int32) error {
			delay := time.Duration(r.Int64N(int64(slowest)))
			for _, other := range append(w.others(id), host) {
				defer w.wires.rules.slow(id, other, delay)()
				defer w.wires.rules.slow(other, id, delay)()
			}
			pause(r)
			return nil
		}},
	}
}

// cutFault loses what goes between a node and some others.
func cutFault(name string, d directions, from func(w *world, r *rand.Rand, id int32) []int32) fault {
	return fault{name: name, breaking: func(w *world, r *rand.Rand, id int32) error {
		for _, other := range from(w, r, id) {
			if d.in {
				defer w.wires.rules.cut(other, id)()
			}
			if d.out {
				defer w.wires.rules.cut(id, other)()
			}
		}
		pause(r)
		return nil
	}}
}

// others are the nodes but one.
func (w *world) others(id int32) (all []int32) {
	for _, n := range w.cluster.Nodes() {
		if int32(n.ID) != id {
			all = append(all, int32(n.ID))
		}
	}
	return all
}

// anotherOne is one of them.
func (w *world) anotherOne(r *rand.Rand, id int32) []int32 {
	all := w.others(id)
	return []int32{all[r.IntN(len(all))]}
}

// proxyFaults are those of proxies: connections are closed, and what a node sends by
// itself goes through.
func proxyFaults() []fault {
	behind := func(name string, f func(w *world, id int32) []*proxy) fault {
		return fault{name: name, breaking: func(w *world, r *rand.Rand, id int32) error {
			for _, p := range f(w, id) {
				p.setCut(true)
				defer p.setCut(false)
			}
			pause(r)
			return nil
		}}
	}
	return []fault{
		behind("deaf to followers", func(w *world, id int32) []*proxy { return []*proxy{w.proxies.replication[id-1]} }),
		behind("deaf to the control plane", func(w *world, id int32) []*proxy { return []*proxy{w.proxies.peer[id-1]} }),
		behind("deaf", func(w *world, id int32) []*proxy {
			return []*proxy{w.proxies.replication[id-1], w.proxies.peer[id-1]}
		}),
		{name: "slow", breaking: func(w *world, r *rand.Rand, id int32) error {
			delay := time.Duration(r.Int64N(int64(slowest)))
			for _, p := range []*proxy{w.proxies.replication[id-1], w.proxies.peer[id-1]} {
				p.setDelay(delay)
				defer p.setDelay(0)
			}
			pause(r)
			return nil
		}},
	}
}
