package clusterload_test

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// fault is something that happens to one node, and its end.
type fault struct {
	name string
	do   func(w *world, r *rand.Rand, id int32)
}

// allFaults are what nodes have to live with.
func allFaults() []fault {
	return []fault{
		{"killed", func(w *world, r *rand.Rand, id int32) {
			w.must(w.node(id).Kill())
			pause(r, 0, 5*time.Second)
			w.restart(id)
		}},
		{"restarted", func(w *world, r *rand.Rand, id int32) {
			w.stop(id)
			pause(r, 0, 2*time.Second)
			w.restart(id)
		}},
		{"frozen", func(w *world, r *rand.Rand, id int32) {
			w.signal(id, syscall.SIGSTOP)
			pause(r, time.Second, 12*time.Second)
			w.signal(id, syscall.SIGCONT)
		}},
		{"deaf to followers", func(w *world, r *rand.Rand, id int32) {
			w.replication[id-1].setCut(true)
			pause(r, time.Second, 8*time.Second)
			w.replication[id-1].setCut(false)
		}},
		{"deaf to the control plane", func(w *world, r *rand.Rand, id int32) {
			w.peer[id-1].setCut(true)
			pause(r, time.Second, 12*time.Second)
			w.peer[id-1].setCut(false)
		}},
		{"deaf", func(w *world, r *rand.Rand, id int32) {
			w.peer[id-1].setCut(true)
			w.replication[id-1].setCut(true)
			pause(r, time.Second, 12*time.Second)
			w.replication[id-1].setCut(false)
			w.peer[id-1].setCut(false)
		}},
		{"slow", func(w *world, r *rand.Rand, id int32) {
			delay := time.Duration(20+r.IntN(280)) * time.Millisecond
			w.peer[id-1].setDelay(delay)
			w.replication[id-1].setDelay(delay)
			pause(r, time.Second, 8*time.Second)
			w.replication[id-1].setDelay(0)
			w.peer[id-1].setDelay(0)
		}},
		{"with a new disk", func(w *world, r *rand.Rand, id int32) {
			w.must(w.node(id).Kill())
			w.must(w.node(id).Wipe())
			w.restart(id)
		}},
	}
}

// pause lets the cluster work for a random time.
func pause(r *rand.Rand, least, most time.Duration) {
	<-time.After(least + time.Duration(r.Int64N(int64(most-least)+1)))
}

// TestTrouble breaks one node after the other, each time until all are in sync again.
func TestTrouble(t *testing.T) {
	w := newWorld(t, 3, 3, map[string]string{"log.segment.bytes": "1048576"})
	w.voting(3)
	w.createTopic("orders", partitions, 3)
	w.inSync()
	l := startLoad(w, "orders", partitions)
	r := rand.New(rand.NewPCG(*seed, 0))
	kinds := allFaults()
	began := time.Now()
	longest := time.Duration(0)
	for n := 0; !l.failed() && (n < *faults || time.Since(began) < *runFor); n++ {
		f, id := kinds[r.IntN(len(kinds))], int32(1+r.IntN(3))
		l.gaps()
		f.do(w, r, id)
		l.acknowledged()
		gap, synced := l.gaps(), w.inSync()
		longest = max(longest, gap)
		t.Logf("%d: node %d %s: %s without an acknowledgement, in sync %s after its end", n+1, id, f.name, gap.Round(time.Millisecond), synced.Round(time.Millisecond))
	}
	t.Logf("the longest time without an acknowledgement: %s", longest)
	l.end()
	w.sameBytes()
}
