package clusterload_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	runFor     = flag.Duration("for", 0, "the least time that the run of faults takes, over which they are spread")
	faultCount = flag.Int("faults", 3, "faults of the run, at least")
	seed       = flag.Uint64("seed", 1, "of the run of faults")
	kind       = flag.String("kind", "", "faults whose names have this only")
)

// Of a run of faults.
const (
	burstMax   = 8                // faults at the same time
	beginMax   = time.Second      // the faults of a burst begin within
	syncedMax  = 20 * time.Second // until all are in sync after a burst, on a machine that does nothing else
	twoVictims = 4                // one burst in so many is about two nodes
)

// burst is some faults that overlap, on one node or two. The third is left alone, so all
// that was acknowledged is there when they are over.
type burst struct {
	victims []int32
	faults  []injury

	gaps   []time.Duration // of each client
	synced time.Duration   // from the end of the last fault until all are in sync
}

// injury is one fault of a burst.
type injury struct {
	fault
	node int32
	seed uint64
}

// newBurst chooses so many faults.
func newBurst(r *rand.Rand, kinds []fault, count int) *burst {
	b := &burst{victims: []int32{int32(1 + r.IntN(3))}}
	if count > 1 && r.IntN(twoVictims) == 0 {
		b.victims = append(b.victims, b.victims[0]%3+1)
	}
	order := map[int32][]int{}
	for _, v := range b.victims {
		order[v] = r.Perm(len(kinds))
	}
	for len(b.faults) < count {
		victim := b.victims[len(b.faults)%len(b.victims)]
		if len(order[victim]) == 0 {
			break
		}
		kind := kinds[order[victim][0]]
		order[victim] = order[victim][1:]
		if kind.empties && victim != b.victims[0] {
			continue // only one disk is lost at a time: three copies survive that with another node down
		}
		b.faults = append(b.faults, injury{kind, victim, r.Uint64()})
	}
	return b
}

// String names what happens to whom.
func (b *burst) String() string {
	var all []string
	for _, i := range b.faults {
		all = append(all, fmt.Sprintf("node %d %s", i.node, i.name))
	}
	return strings.Join(all, ", ")
}

// run breaks the nodes and returns when all faults are over.
func (b *burst) run(w *world) error {
	processes := map[int32]*sync.Mutex{}
	for _, v := range b.victims {
		processes[v] = &sync.Mutex{}
	}
	errs := make([]error, len(b.faults))
	var all sync.WaitGroup
	for at, i := range b.faults {
		all.Go(func() {
			r := rand.New(rand.NewPCG(i.seed, 0))
			if at > 0 {
				<-time.After(time.Duration(r.Int64N(int64(beginMax))))
			}
			if i.process {
				processes[i.node].Lock()
				defer processes[i.node].Unlock()
			}
			w.note("node %d: %s begins", i.node, i.name)
			if err := i.breaking(w, r, i.node); err != nil {
				errs[at] = fmt.Errorf("node %d: %s: %w", i.node, i.name, err)
			}
			w.note("node %d: %s is over", i.node, i.name)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// TestTrouble breaks nodes until the time is over, each time until all are in sync again.
func TestTrouble(t *testing.T) {
	w := newBreakableWorld(t, 3, map[string]string{"log.segment.bytes": "1048576"})
	w.voting(3)
	w.createTopic("orders", partitions, 3)
	clients := []loader{}
	if *java == "" {
		t.Log("no Java client takes part: -java has no class path")
	} else {
		w.createTopic("numbers", partitions, 3)
		clients = append(clients, startJava(w, "numbers", partitions))
	}
	w.inSync()
	clients = append(clients, startLoad(w, "orders", partitions))
	for _, c := range clients {
		c.acknowledged()
	}
	r := rand.New(rand.NewPCG(*seed, 0))
	kinds := slices.DeleteFunc(w.faults(), func(f fault) bool { return !strings.Contains(f.name, *kind) })
	if len(kinds) == 0 {
		t.Fatalf("no fault has %q in its name here", *kind)
	}
	report := newReport(w, clients)
	for report.faults < *faultCount || time.Since(report.began) < *runFor {
		b := newBurst(r, kinds, report.due(r))
		t.Logf("%s burst %d: %s", w.now(), len(report.bursts)+1, b)
		for _, c := range clients {
			c.gaps()
		}
		if err := b.run(w); err != nil || !w.allRun() {
			t.Error("a burst went wrong: ", err)
			break
		}
		healed := time.Now()
		report.reopened += w.reopenDisks()
		for _, c := range clients {
			c.acknowledged()
		}
		for _, c := range clients {
			b.gaps = append(b.gaps, c.gaps())
		}
		w.inSync()
		b.synced = time.Since(healed)
		w.voting(3) // who lost its disk does not vote at once, and the next one may be lost too
		report.add(b)
		t.Logf("%s %s without an acknowledgement, in sync after %s", w.now(), b.gaps, b.synced.Round(time.Millisecond))
		if slices.ContainsFunc(clients, loader.failed) {
			break
		}
	}
	report.stop()
	for _, c := range clients {
		report.records = append(report.records, c.end())
	}
	w.sameBytes()
	t.Logf("seed %d\n%s", *seed, report)
	if *strict && report.slowest() > syncedMax {
		t.Errorf("it took %s until all were in sync after a fault, want at most %s", report.slowest(), syncedMax)
	}
}

// allRun says whether no node has ended by itself.
func (w *world) allRun() bool {
	w.t.Helper()
	all := true
	for _, n := range w.cluster.Nodes() {
		if !n.Runs() {
			w.t.Errorf("node %d ended by itself", n.ID)
			all = false
		}
	}
	return all
}
