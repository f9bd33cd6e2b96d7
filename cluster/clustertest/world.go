package clustertest

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/replicatest"
)

// The length of a run in simulated time.
const (
	troubleTime = 20 * time.Second // faults come
	healingTime = 90 * time.Second // all must be well again by then
)

// Options say what to simulate.
type Options struct {
	Seed  uint64
	Trace io.Writer // nil: nothing is written
	// Machine makes a node's disk; seed is for what it decides itself.
	Machine func(id kafka.BrokerID, seed uint64) replicatest.Machine

	bug replicatest.Bug // planted; set by tests
}

// Report is what a run came to.
type Report struct {
	Err    error         // the first rule that was broken; nil: none
	At     time.Duration // when the run ended
	Hash   uint64        // of all that happened: equal for equal runs
	Acked  int           // batches acknowledged with acks=all
	Seen   int           // batches below a high watermark
	Faults int
	Images int
	Churn  Churn
}

// Churn counts what happened to nodes and logs.
type Churn struct {
	Joined, Left, Forgotten int // nodes: forgotten ones were there
	Votes                   int // changes of voters and members
	Deleted                 int // deletions of records that were done
	Anew                    int // times that a replica began anew behind its end
	Full                    int // times that one left an ISR because it had no room
}

// add adds what happened elsewhere.
func (c *Churn) add(o Churn) {
	c.Joined, c.Left, c.Forgotten = c.Joined+o.Joined, c.Left+o.Left, c.Forgotten+o.Forgotten
	c.Votes, c.Deleted, c.Anew, c.Full = c.Votes+o.Votes, c.Deleted+o.Deleted, c.Anew+o.Anew, c.Full+o.Full
}

// world is one simulated cluster with its clients and checkers.
type world struct {
	*loop
	rand  *rand.Rand
	net   *network
	bug   replicatest.Bug
	trace io.Writer
	sum   interface {
		io.Writer
		Sum64() uint64
	}

	machine func(id kafka.BrokerID, seed uint64) replicatest.Machine
	nodes   []*node // by host, those that left for good as well
	control *control
	image   *imageChecker
	history *history
	faults  *faults
	topics  *topics
	clients int // made so far
	acked   int
	tokens  int64 // batches made so far
	churn   Churn

	calm bool // faults are over
	err  error
}

// clientHost is the first host that is no broker.
const clientHost = 1000

// adminHost is where topics are made from.
const adminHost = clientHost - 1

// Run simulates a cluster until all is well again after its faults, or a rule is
// broken.
func Run(o Options) Report {
	w := newWorld(&o)
	w.begin()
	for w.err == nil && w.step(troubleTime) {
	}
	w.healAll()
	end := w.now + healingTime
	for w.err == nil && !w.settled() && w.step(end) {
	}
	if w.err == nil && !w.settled() {
		w.fail("liveness: %v after the last fault: %s", healingTime, w.unsettled())
	}
	if w.err == nil {
		w.history.final()
	}
	return Report{Err: w.err, At: w.now, Hash: w.sum.Sum64(), Acked: w.acked, Seen: w.history.seen, Faults: w.faults.count, Images: len(w.control.images) - 1, Churn: w.churn}
}

// newWorld makes everything that a seed says; nothing happens yet.
func newWorld(o *Options) *world {
	w := &world{loop: &loop{}, rand: rand.New(rand.NewPCG(o.Seed, 0x6d6f7274697365)), bug: o.bug, trace: o.Trace, sum: fnv.New64a(), machine: o.Machine}
	w.net = newNetwork(w.loop, w.rand)
	w.net.up, w.net.run = w.up, w.runOn
	w.image = newImageChecker(w)
	w.history = newHistory(w)
	n := 3
	if w.rand.IntN(4) == 0 {
		n = 4 + w.rand.IntN(2)
	}
	w.control = newControl(w, n)
	for range n {
		w.addNode()
	}
	w.faults = &faults{w: w, down: map[int]bool{}}
	w.topics = newTopics(w)
	return w
}

// addNode makes a machine with an empty disk, on which nothing runs yet.
func (w *world) addNode() *node {
	host := len(w.nodes)
	id := kafka.BrokerID(host)
	n := &node{w: w, host: host, id: id, machine: w.machine(id, w.rand.Uint64()), image: meta.Empty("")}
	w.nodes = append(w.nodes, n)
	return n
}

// present are the nodes that did not leave for good.
func (w *world) present() []*node {
	all := make([]*node, 0, len(w.nodes))
	for _, n := range w.nodes {
		if !n.left {
			all = append(all, n)
		}
	}
	return all
}

// begin starts the nodes, the clients and the faults.
func (w *world) begin() {
	for _, n := range w.nodes {
		n.start()
	}
	w.control.begin()
	w.after(500*time.Millisecond, w.topics.begin)
	w.after(2*time.Second, w.faults.next)
}

// up says which process runs on a host.
func (w *world) up(host int) (int, bool) {
	if host >= len(w.nodes) {
		return 0, true
	}
	n := w.nodes[host]
	return n.incarnation, n.replicas != nil
}

// runOn has f happen in a process.
func (w *world) runOn(host, incarnation int, f func()) {
	if host >= len(w.nodes) {
		f()
		return
	}
	w.nodes[host].run(incarnation, f)
}

// healAll ends all faults; what was stopped starts again.
func (w *world) healAll() {
	w.calm = true
	w.note("all faults end")
	w.net.heal()
	w.control.slow = 0
	for _, n := range w.present() {
		n.skew, n.behind, n.busy = 0, 0, 0
		n.machine.Fill(false)
		n.resume()
		if n.replicas == nil {
			n.start()
		}
	}
	w.after(time.Second, w.repair)
}

// repair does what somebody must do who is told of it: it starts processes anew whose disk
// failed while it was full, and has anybody lead what nobody can who is in sync.
func (w *world) repair() {
	w.faults.giveUp()
	for _, n := range w.nodes {
		if n.replicas != nil && n.epoch != 0 && n.hasFailed() {
			n.restart()
			break // one at a time
		}
	}
	w.after(5*time.Second, w.repair)
}

// fail notes the first broken rule; the run ends.
func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("at %v: "+format, append([]any{w.now}, args...)...)
		w.note("FAILED: %v", w.err)
	}
}

// note writes to the trace and to the run's hash.
func (w *world) note(format string, args ...any) {
	fmt.Fprintf(w.sum, "%d ", w.now)
	fmt.Fprintf(w.sum, format, args...)
	if w.trace != nil {
		fmt.Fprintf(w.trace, "%12v  "+format+"\n", append([]any{w.now}, args...)...)
	}
}

// chance is true once in n.
func (w *world) chance(n int) bool { return w.rand.IntN(n) == 0 }

// between is a time from a to b.
func (w *world) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.rand.Int64N(int64(b-a)+1))
}

// settled reports whether everything is as it was before the faults.
func (w *world) settled() bool { return w.unsettled() == "" }

// unsettled says what is not well yet; empty: all is.
func (w *world) unsettled() string {
	for _, n := range w.nodes {
		if why := n.unsettled(); why != "" {
			return why
		}
	}
	if why := w.control.unsettled(); why != "" {
		return why
	}
	img := w.control.latest()
	for t := range img.Topics() {
		for p := range t.Partitions {
			if why := w.partitionUnsettled(t, int32(p)); why != "" {
				return why
			}
		}
	}
	return w.topics.unsettled()
}

// partitionUnsettled looks at one partition.
func (w *world) partitionUnsettled(t *meta.Topic, p int32) string {
	s := &t.Partitions[p]
	name := fmt.Sprintf("%s-%d", t.Name, p)
	switch {
	case s.Leader == kafka.NoBroker:
		return name + " has no leader"
	case len(s.ISR) != len(s.Replicas):
		return fmt.Sprintf("%s: ISR %v of replicas %v", name, s.ISR, s.Replicas)
	case len(s.Adding)+len(s.Removing) > 0:
		return name + ": a reassignment is not over"
	}
	id := meta.PartitionID{Topic: t.ID, Partition: p}
	leader, ok := w.nodes[s.Leader].state(id)
	if !ok || !leader.Leading || leader.HighWatermark != leader.End {
		return fmt.Sprintf("%s: the leader %d is at %+v", name, s.Leader, leader)
	}
	for _, r := range s.Replicas {
		// A leader that lost its disk with the note of where its log starts may have more
		// than the others: that is no fault.
		if st, ok := w.nodes[r].state(id); !ok || st.End != leader.End || st.HighWatermark != leader.HighWatermark || st.Start < leader.Start {
			return fmt.Sprintf("%s: replica %d is at %+v, the leader at %+v", name, r, st, leader)
		}
	}
	return ""
}
