package clustertest

import (
	"fmt"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/replicatest"
)

// The intervals of a node.
const (
	tickEvery      = 500 * time.Millisecond
	heartbeatEvery = 2 * time.Second
	lagMax         = 3 * time.Second // replica.lag.time.max.ms, short for short runs
	fetchWait      = 500 * time.Millisecond
	fetchTimeout   = 2 * time.Second
	controlTimeout = 3 * time.Second
	retryAfter     = 200 * time.Millisecond
	stopTimeout    = 8 * time.Second
	rejoinAfter    = 15 * time.Second
)

// wallStart is what the nodes' clocks show at the start.
var wallStart = time.UnixMilli(1_700_000_000_000)

// node is a broker's machine and the process on it.
type node struct {
	w       *world
	host    int
	id      kafka.BrokerID
	machine replicatest.Machine

	incarnation int
	replicas    replicatest.Replicas // nil: no process
	epoch       kafka.BrokerEpoch    // 0: not registered yet
	answered    time.Duration        // when a leader answered its heartbeat last
	image       *meta.Image          // what the process knows
	index       int                  // of image in the control log
	waiting     []waiting
	proposals   []meta.ISRChange // to send
	parked      []*parked
	stopping    bool
	torn        bool // the power was cut before it started
	disks       int  // that it had before
	full        bool // its disk, as the process found last
	left        bool // for good, unless it joins once more

	behind time.Duration // until then it hears nothing of the control log
	busy   time.Duration // until then it takes no roles
	owes   bool          // it will take them when it is not busy any more

	paused   bool
	deferred []func()
	skew     time.Duration // of the clock
}

func (n *node) now() time.Time { return wallStart.Add(n.w.now + n.skew) }

// run has f happen in a process: later when it is paused, never when it is gone.
func (n *node) run(incarnation int, f func()) {
	if incarnation != n.incarnation || n.replicas == nil {
		return
	}
	if n.paused {
		n.deferred = append(n.deferred, func() { n.run(incarnation, f) })
		return
	}
	f()
	n.settle()
}

// later has f happen in this process once d has passed.
func (n *node) later(d time.Duration, f func()) {
	inc := n.incarnation
	n.w.after(d, func() { n.run(inc, f) })
}

// state is a replica here.
func (n *node) state(id meta.PartitionID) (replicatest.State, bool) {
	if n.replicas == nil {
		return replicatest.State{}, false
	}
	return n.replicas.State(id)
}

// hasFailed reports whether a disk of the process failed.
func (n *node) hasFailed() bool {
	for _, id := range n.replicas.Held() {
		if s, ok := n.replicas.State(id); ok && s.Failed {
			return true
		}
	}
	return false
}

// unsettled says what is not well here; empty: all is.
func (n *node) unsettled() string {
	switch b, known := n.w.control.latest().Broker(n.id); {
	case n.left && known:
		return fmt.Sprintf("node %d left, and is in the cluster", n.id)
	case n.left:
	case n.replicas == nil:
		return fmt.Sprintf("node %d does not run", n.id)
	case !known || b.Fenced || b.Epoch != n.epoch:
		return fmt.Sprintf("node %d is not in the cluster", n.id)
	case n.image != n.w.control.latest():
		return fmt.Sprintf("node %d has an old image", n.id)
	}
	return ""
}

// tell is where the process writes what it does; nil: nobody reads it.
func (n *node) tell() func(line string) {
	if n.w.trace == nil {
		return nil
	}
	return func(line string) { fmt.Fprintf(n.w.trace, "%12v    node %d %s\n", n.w.now, n.id, line) }
}

func (n *node) note(format string, args ...any) {
	n.w.note("node %d: "+format, append([]any{n.id}, args...)...)
}
