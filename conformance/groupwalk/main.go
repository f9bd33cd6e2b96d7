package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"time"
)

// options are the flags.
type options struct {
	kafka, mortise string
	seed           uint64
	groups         int
	batches        int
	only           int
	limit, short   time.Duration
	record         string
}

// Short timeouts: longer than a stride takes on a quiet machine; than rounds that wait
// for one side, when a difference is looked at last; and on a busy machine when a walk is
// recorded. A recorded walk replays with the same.
const (
	shortTimeout  = 1500 * time.Millisecond
	shortPatient  = 4 * time.Second
	shortRecorded = 6 * time.Second
)

func main() {
	var o options
	flag.StringVar(&o.kafka, "kafka", "localhost:9092", "address of a real Kafka 4.4")
	flag.StringVar(&o.mortise, "mortise", "localhost:9093", "address of the broker under test")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "what the scripts are made from")
	flag.IntVar(&o.groups, "groups", 200, "groups of each kind that walk side by side")
	flag.IntVar(&o.batches, "batches", 0, "how often so many walk, if there is time; 0: as often as there is")
	flag.IntVar(&o.only, "group", -1, "walk this group only, and cut its script to what a difference needs")
	flag.DurationVar(&o.limit, "for", time.Minute, "how long to walk")
	flag.DurationVar(&o.short, "short", shortTimeout, "what short timeouts are; more on a busy machine")
	flag.StringVar(&o.record, "record", "", "walk once, and write the traces of groups that agree into this folder")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "groupwalk:", err)
		os.Exit(1)
	}
}

func (o options) run() error {
	if o.record != "" {
		o.short = shortRecorded
	}
	sides := []*side{newSide("kafka", dialer(o.kafka), o.short), newSide("mortise", dialer(o.mortise), o.short)}
	prefix := fmt.Sprintf("walk-%x", time.Now().UnixMilli())
	var err error
	switch {
	case o.record != "":
		err = o.recordTraces(sides, prefix)
	case o.only >= 0:
		err = o.report(&lab{sides: sides, prefix: prefix}, []*walker{newWalker(sides, o.only, prefix, scriptOf(o.seed, o.only))})
	default:
		err = o.compare(sides, prefix)
	}
	for _, s := range sides {
		err = errors.Join(err, s.hangUp())
	}
	return err
}

func dialer(address string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout("tcp", address, 10*time.Second) }
}
