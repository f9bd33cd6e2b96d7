package clustertest

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// faults makes trouble.
type faults struct {
	w       *world
	count   int
	down    map[int]bool  // hosts that are down on purpose
	pace    time.Duration // the most between two faults, by the seed
	weights []int         // of kinds, by the seed
	lost    *node         // lost records, and the cluster may not know it yet; nil: nobody
}

// stopped reports whether a node shall stay down.
func (f *faults) stopped(n *node) bool { return f.down[n.host] }

// next makes one fault and comes again.
func (f *faults) next() {
	if f.w.calm {
		return
	}
	if f.pace == 0 {
		f.pace = f.w.between(300*time.Millisecond, 3*time.Second)
	}
	f.w.after(f.w.between(f.pace/4, f.pace), f.next)
	n := f.w.nodes[f.w.rand.IntN(len(f.w.nodes))]
	duration := f.w.between(200*time.Millisecond, 8*time.Second)
	f.count++
	f.kinds()[f.choose()](n, duration)
}

// kinds are all faults.
func (f *faults) kinds() []func(*node, time.Duration) {
	return []func(*node, time.Duration){
		f.kill, f.powerCut, f.stop, f.pause, f.cut, f.slow, f.jump, f.fill, f.control,
		f.topic, f.reassign, f.elect, f.configure,
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

// mayStop reports whether one more node may be down: a minority is, and seldom more.
// Until what a node lost is where it should be, nobody else may stop: who was killed
// counts as one that may have lost records, and two of them at a time are more than the
// contract covers.
func (f *faults) mayStop(n *node) bool {
	if n.replicas == nil || n.paused || n.stopping || f.down[n.host] || f.losing() && f.lost != n {
		return false
	}
	down := 0
	for _, o := range f.w.nodes {
		if o.replicas == nil {
			down++
		}
	}
	return down == 0 || down < len(f.w.nodes)-1 && f.w.chance(3)
}

// back starts a node again after a while.
func (f *faults) back(n *node, after time.Duration) {
	if f.w.calm {
		after = 0
	}
	f.down[n.host] = true
	f.w.after(after, func() {
		delete(f.down, n.host)
		if n.replicas == nil {
			n.start()
		}
	})
}

// kill ends a process; its page cache stays.
func (f *faults) kill(n *node, duration time.Duration) {
	if f.mayStop(n) {
		n.kill()
		f.back(n, duration)
	}
}

// powerCut takes what was not on the disk, or everything that was.
func (f *faults) powerCut(n *node, duration time.Duration) {
	if !f.mayStop(n) || !f.mayLose(n) {
		f.kill(n, duration)
		return
	}
	n.powerCut()
	f.lost = n
	f.weaken(n)
	if f.w.chance(4) {
		n.note("comes back with an empty disk")
		n.machine.Wipe()
	}
	if f.w.chance(3) {
		duration /= 20 // back before anybody noticed
	}
	f.back(n, duration)
}

// mayLose reports whether a node may lose records. The contract says that one replica
// at a time may: another one that is in sync must have them, and all run. Partitions
// that may have a single replica in sync are not covered.
func (f *faults) mayLose(n *node) bool {
	for t := range f.w.control.latest().Topics() {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			others := slices.ContainsFunc(p.ISR, func(id kafka.BrokerID) bool { return id != n.id })
			if slices.Contains(p.Replicas, n.id) && !others && f.w.topics.specs[t.Name].minISR > 1 {
				return false
			}
		}
	}
	stopping := slices.ContainsFunc(f.w.nodes, func(o *node) bool { return o.stopping })
	return !stopping && f.allRegistered()
}

// weaken takes what a node holds that the contract does not cover out of the checks.
func (f *faults) weaken(n *node) {
	for t := range f.w.control.latest().Topics() {
		for i := range t.Partitions {
			if f.w.topics.specs[t.Name].minISR < 2 && slices.Contains(t.Partitions[i].Replicas, n.id) {
				f.w.history.of(meta.PartitionID{Topic: t.ID, Partition: int32(i)}).loose = true
			}
		}
	}
}

// losing reports whether what a node lost is not yet where it should be.
func (f *faults) losing() bool {
	if f.lost != nil && f.recovered() {
		f.lost = nil
	}
	return f.lost != nil
}

// recovered reports whether the node that lost records is in sync again, or no longer
// needed: two others are.
func (f *faults) recovered() bool {
	if !f.allRegistered() {
		return false
	}
	for t := range f.w.control.latest().Topics() {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			if slices.Contains(p.Replicas, f.lost.id) && !slices.Contains(p.ISR, f.lost.id) && len(p.ISR) < 2 {
				return false
			}
		}
	}
	return true
}

// allRegistered reports whether the cluster knows the present process of every node.
func (f *faults) allRegistered() bool {
	for _, n := range f.w.nodes {
		if b, known := f.w.control.latest().Broker(n.id); n.replicas == nil || !known || b.Epoch != n.epoch {
			return false
		}
	}
	return true
}

// stop ends a process in order.
func (f *faults) stop(n *node, duration time.Duration) {
	if !f.mayStop(n) || n.epoch == 0 {
		return
	}
	n.stop(func(clean bool) {
		if clean && f.w.chance(2) {
			n.note("power cut while it is down")
			n.cutPower()
		}
		f.back(n, duration)
	})
}

// pause stops a process for a while, as SIGSTOP does.
func (f *faults) pause(n *node, duration time.Duration) {
	if n.replicas == nil || n.paused {
		return
	}
	n.note("pauses for %v", duration)
	n.paused = true
	inc := n.incarnation
	f.w.after(2*duration, func() {
		if n.incarnation == inc {
			n.resume()
		}
	})
}

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

// propose sends an admin's request; nobody waits for the outcome.
func (f *faults) propose(c metadata.Command) {
	f.w.control.propose(adminHost, c, func(metadata.Result, int, bool) {})
}

// topic makes, deletes or grows a topic.
func (f *faults) topic(*node, time.Duration) {
	t, ok := f.w.topics.any()
	switch {
	case !ok || f.w.chance(3):
		f.w.topics.temporary()
	case t.Name[0] == 't':
		f.propose(&metadata.DeleteTopics{IDs: []kafka.TopicID{t.ID}})
	default:
		f.propose(&metadata.CreatePartitions{Seed: f.w.rand.Uint64(), Topics: []metadata.NewPartitions{{Topic: t.Name, Count: int32(len(t.Partitions) + 1)}}})
	}
}

// reassign moves a partition to other replicas, or gives a move up; not while a node
// that lost records may be the only one in sync that would be left.
func (f *faults) reassign(*node, time.Duration) {
	t, ok := f.w.topics.any()
	if !ok || f.losing() {
		return
	}
	n := f.w.rand.IntN(len(t.Partitions))
	p := &t.Partitions[n]
	r := metadata.Reassignment{Topic: t.ID, Partition: int32(n)}
	if !p.Reassigning() || !f.w.chance(3) {
		for _, i := range f.w.rand.Perm(len(f.w.nodes))[:min(len(f.w.nodes), len(p.Replicas)-len(p.Adding))] {
			r.Replicas = append(r.Replicas, kafka.BrokerID(i))
		}
	}
	f.w.note("reassign %s-%d: %v", t.Name, n, r.Replicas)
	f.propose(&metadata.AlterReassignments{Changes: []metadata.Reassignment{r}})
}

// elect holds elections of preferred leaders, or unclean ones where those are allowed.
func (f *faults) elect(*node, time.Duration) {
	if t, ok := f.w.control.latest().Topic("loose"); ok && f.w.chance(2) {
		f.propose(&metadata.ElectLeaders{Kind: meta.Unclean, Partitions: []metadata.PartitionID{{Topic: t.ID}}})
		return
	}
	f.propose(&metadata.ElectLeaders{Kind: meta.Preferred, All: true})
}

// configure changes min.insync.replicas of a topic that may have any.
func (f *faults) configure(*node, time.Duration) {
	t, ok := f.w.control.latest().Topic("single")
	if !ok {
		return
	}
	r := meta.Resource{Type: meta.ResourceTopic, Name: t.Name}
	before := f.w.control.latest().Config(r)
	after := maps.Clone(before)
	after[meta.MinISRConfig] = strconv.Itoa(1 + f.w.rand.IntN(2))
	f.propose(&metadata.AlterConfigs{Changes: []metadata.ConfigChange{{Type: r.Type, Name: r.Name, Previous: before, Values: after}}})
}
