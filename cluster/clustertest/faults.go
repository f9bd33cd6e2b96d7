package clustertest

import "time"

// faults makes trouble.
type faults struct {
	w       *world
	count   int
	down    map[int]bool  // hosts that are down on purpose
	pace    time.Duration // the most between two faults, by the seed
	weights []int         // of kinds, by the seed
	lurking bool          // see ambush
	lost    *node         // lost records, and the cluster may not know it yet; nil: nobody
	leaving *node         // is about to leave, or left and is still a replica; nil: nobody
	asking  bool          // for a broker to be forgotten
}

// stopped reports whether a node shall stay down.
func (f *faults) stopped(n *node) bool { return f.down[n.host] || n.left }

// next makes one fault and comes again.
func (f *faults) next() {
	if f.w.calm {
		return
	}
	if f.pace == 0 {
		f.pace = f.w.between(300*time.Millisecond, 3*time.Second)
	}
	f.w.after(f.w.between(f.pace/4, f.pace), f.next)
	all := f.w.present()
	n := all[f.w.rand.IntN(len(all))]
	duration := f.w.between(200*time.Millisecond, 8*time.Second)
	f.count++
	f.kinds()[f.choose()](n, duration)
}

// kinds are all faults.
func (f *faults) kinds() []func(*node, time.Duration) {
	return []func(*node, time.Duration){
		f.kill, f.powerCut, f.stop, f.pause, f.cut, f.slow, f.jump, f.fill, f.control,
		f.topic, f.reassign, f.elect, f.configure, f.late, f.swing, f.lurk,
		f.join, f.drain, f.bury, f.forget, f.trim, f.retain, f.outrun,
	}
}

// choose is the next fault. Each seed has a taste of its own: many of some kinds and
// none of others finds more than a bit of everything.
func (f *faults) choose() int {
	if f.weights == nil {
		for range f.kinds() {
			f.weights = append(f.weights, []int{0, 1, 1, 4}[f.w.rand.IntN(4)])
		}
	}
	sum := 1 // a kill, if there is nothing else
	for _, weight := range f.weights {
		sum += weight
	}
	at := f.w.rand.IntN(sum)
	for i, weight := range f.weights {
		if at -= weight; at < 0 {
			return i
		}
	}
	return 0
}
