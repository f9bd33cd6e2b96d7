package clustertest

import (
	"flag"
	"os"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/replicatest"
)

var (
	seeds = flag.Int("seeds", 200, "how many seeds to run")
	first = flag.Uint64("seed", 0, "run this seed alone")
	story = flag.Bool("story", false, "print what happens")
)

func model(kafka.BrokerID, uint64) replicatest.Machine { return replicatest.NewModel() }

func disk(kafka.BrokerID, uint64) replicatest.Machine { return replicatest.NewDisk() }

func TestModelSeeds(t *testing.T) { run(t, model) }

func TestDiskSeeds(t *testing.T) { run(t, disk) }

// run runs the seeds that the flags say.
func run(t *testing.T, machine func(kafka.BrokerID, uint64) replicatest.Machine) {
	from, to := uint64(1), uint64(*seeds)
	if *first != 0 {
		from, to = *first, *first
	}
	var acked, seen, faults, images int
	for seed := from; seed <= to; seed++ {
		o := Options{Seed: seed, Machine: machine}
		if *story {
			o.Trace = os.Stdout
		}
		r := Run(o)
		if r.Err != nil {
			t.Errorf("seed %d: %v", seed, r.Err)
		}
		acked, seen, faults, images = acked+r.Acked, seen+r.Seen, faults+r.Faults, images+r.Images
	}
	t.Logf("%d acked, %d seen, %d faults, %d images", acked, seen, faults, images)
}

func TestSeedIsOneRun(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		a, b := Run(Options{Seed: seed, Machine: model}), Run(Options{Seed: seed, Machine: model})
		if a != b {
			t.Errorf("seed %d: %+v, then %+v", seed, a, b)
		}
	}
}
