package clustertest

import (
	"flag"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/replicatest"
)

var (
	seeds = flag.Int("seeds", 1000, "how many seeds to run, half of them with real logs")
	from  = flag.Uint64("from", 1, "the first seed")
	only  = flag.Uint64("seed", 0, "run this seed alone")
	story = flag.Bool("story", false, "print what happens")
)

// churnSeeds is how many seeds surely have some of everything.
const churnSeeds = 200

func model(kafka.BrokerID, uint64) replicatest.Machine { return replicatest.NewModel() }

func disk(kafka.BrokerID, uint64) replicatest.Machine { return replicatest.NewDisk() }

// TestModelSeeds runs the rules alone, TestDiskSeeds the code that keeps them.
func TestModelSeeds(t *testing.T) { run(t, *seeds/2, model) }

func TestDiskSeeds(t *testing.T) { run(t, *seeds/2, disk) }

// run runs the seeds that the flags say, as many at once as there are processors.
func run(t *testing.T, count int, machine func(kafka.BrokerID, uint64) replicatest.Machine) {
	if *only != 0 {
		o := Options{Seed: *only, Machine: machine}
		if *story {
			o.Trace = os.Stdout
		}
		t.Logf("%+v", check(t, o))
		return
	}
	var next atomic.Uint64
	var all Report
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for n := next.Add(1); n <= uint64(count); n = next.Add(1) {
				r := check(t, Options{Seed: *from + n - 1, Machine: machine})
				mu.Lock()
				all.Churn.add(r.Churn)
				all.Acked, all.Seen, all.Faults, all.Images = all.Acked+r.Acked, all.Seen+r.Seen, all.Faults+r.Faults, all.Images+r.Images
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds: %d batches acknowledged, %d committed, %d faults, %d decisions, %+v", count, all.Acked, all.Seen, all.Faults, all.Images, all.Churn)
	if c := all.Churn; count >= churnSeeds && min(c.Joined, c.Left, c.Forgotten, c.Votes, c.Deleted, c.Anew, c.Full) == 0 {
		t.Errorf("something never happened: %+v", c)
	}
}

// check runs one seed.
func check(t *testing.T, o Options) Report {
	r := Run(o)
	if r.Err != nil {
		t.Errorf("seed %d: %v", o.Seed, r.Err)
	}
	return r
}

// bugSeeds is how many seeds may be needed to find a planted bug.
const bugSeeds = 500

func TestCheckersFindPlantedBugs(t *testing.T) {
	for _, bug := range replicatest.Bugs() {
		t.Run(bug.String(), func(t *testing.T) {
			t.Parallel()
			o := Options{Machine: disk, bug: bug}
			for o.Seed = 1; o.Seed <= bugSeeds; o.Seed++ {
				if r := Run(o); r.Err != nil {
					t.Logf("seed %d: %v", o.Seed, r.Err)
					return
				}
			}
			t.Errorf("not found in %d seeds", bugSeeds)
		})
	}
}

func TestSeedIsOneRun(t *testing.T) {
	for seed := uint64(1); seed <= 6; seed++ {
		for _, machine := range []func(kafka.BrokerID, uint64) replicatest.Machine{model, disk} {
			a, b := Run(Options{Seed: seed, Machine: machine}), Run(Options{Seed: seed, Machine: machine})
			if a != b {
				t.Errorf("seed %d: %+v, then %+v", seed, a, b)
			}
		}
	}
	for _, seed := range []uint64{5, 60} { // 60: a node stops while its disk is full
		o := Options{Seed: seed, Machine: disk, bug: replicatest.RememberFollowers}
		if a, b := Run(o), Run(o); a.Hash != b.Hash {
			t.Errorf("seed %d with a bug: %+v, then %+v", seed, a, b)
		}
	}
}
