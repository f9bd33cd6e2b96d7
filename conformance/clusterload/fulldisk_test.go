package clusterload_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"
)

// fullMax is how long a partition may take no records when the disk of its leader, or of a
// follower, becomes full. The client looks for the new leader every 50 ms.
const fullMax = 2 * time.Second

// TestFullDisk measures how long partitions take no records when the disk of the node that
// leads most of them becomes full, and holds that the others lead while it is.
func TestFullDisk(t *testing.T) {
	w := newBreakableWorld(t, 3, nil)
	if w.disks == nil {
		t.Skip("no disk can be full here")
	}
	w.voting(3)
	w.createTopic("orders", partitions, 3)
	w.inSync()
	l := startLoad(w, "orders", partitions)
	l.acknowledged()

	victim := w.busiest("orders", -1)
	leads := func() bool {
		return slices.Contains(slices.Collect(maps.Values(w.leaders("orders"))), victim)
	}
	l.gaps()
	empty, err := w.disks[victim-1].fill()
	w.must(err)
	moved := w.until("led by others", func(context.Context) bool { return !leads() })
	l.acknowledged()
	full := l.gaps()
	l.acknowledged()
	after := l.gaps()
	w.must(empty())
	synced := w.inSync()
	l.acknowledged()
	t.Logf("node %d is full: its partitions are led by others after %s; no acknowledgement for %s, %s afterwards and %s while it comes back, in sync %s after it has room",
		victim, moved, full, after, l.gaps(), synced)
	w.lead()
	l.acknowledged()
	if *strict && max(full, after) > fullMax {
		t.Errorf("%s without an acknowledgement, want at most %s", max(full, after), fullMax)
	}
	l.end()
	w.sameBytes()
}
