package clusterload_test

import (
	"context"
	"slices"
	"testing"
	"time"
)

// Bounds of failover.
const (
	killedMax  = 3 * time.Second        // after a leader's process is gone
	stoppedMax = 200 * time.Millisecond // after a controlled shutdown
	partitions = 12
)

// TestFailover measures how long partitions take no records when the node that leads
// most of them is killed, and when it is stopped in order, and how long members of groups
// that it coordinates can't commit then.
func TestFailover(t *testing.T) {
	w := newWorld(t, 3, 3, nil)
	w.voting(3)
	w.createTopic("orders", partitions, 3)
	w.inSync()
	l := startLoad(w, "orders", partitions)
	l.acknowledged()

	victim := w.busiest("orders", -1)
	m := w.joined(victim, "orders")
	w.inSync() // the offsets too
	l.gaps()
	began := time.Now()
	w.must(w.node(victim).Kill())
	late := m.goesOn("orders", began)
	l.acknowledged()
	killed := l.gaps()
	w.restart(victim)
	t.Logf("killed: no acknowledgement for %s, no commit of a group for %s; in sync %s after its start", killed, late, w.inSync())

	w.lead()
	l.acknowledged()
	victim = w.busiest("orders", victim)
	m = w.joined(victim, "orders")
	l.gaps()
	w.stop(victim)
	committed := m.goesOn("orders", time.Now())
	l.acknowledged()
	stopped := l.gaps()
	w.restart(victim)
	t.Logf("stopped: no acknowledgement for %s, no commit of a group for %s; in sync %s after its start", stopped, committed, w.inSync())

	if *strict && killed > killedMax {
		t.Errorf("%s without an acknowledgement after a kill, want at most %s", killed, killedMax)
	}
	if *strict && late > killedMax {
		t.Errorf("a group's commits wait for %s after a kill, want at most %s", late, killedMax)
	}
	if *strict && stopped > stoppedMax {
		t.Errorf("%s without an acknowledgement after a controlled shutdown, want at most %s", stopped, stoppedMax)
	}
	l.end()
	w.sameBytes()
}

// busiest is the node that leads most partitions of a topic, but not the one that was.
func (w *world) busiest(topic string, not int32) int32 {
	w.t.Helper()
	count := map[int32]int{}
	for _, leader := range w.leaders(topic) {
		count[leader]++
	}
	delete(count, not)
	var nodes []int32
	for id := range count {
		nodes = append(nodes, id)
	}
	slices.Sort(nodes)
	return slices.MaxFunc(nodes, func(a, b int32) int { return count[a] - count[b] })
}

// restart starts a node again.
func (w *world) restart(id int32) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	w.must(w.node(id).Start(ctx))
}

// stop stops a node in order.
func (w *world) stop(id int32) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	w.must(w.node(id).Stop(ctx))
}
