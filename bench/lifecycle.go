package main

import (
	"fmt"
	"math"
	"time"
)

// measure is one figure of one broker.
type measure struct {
	text  string
	value float64 // seconds or KiB
}

// lifeName is a line of the lifecycle and its target.
type lifeName struct {
	name, target string
	most         float64
}

// lifeNames are the lines, in their order; many is how many partitions each of
// ten topics has: the targets are for up to 1,000 and up to 10,000 of them.
func lifeNames(many int) []lifeName {
	names := []lifeName{
		{startName, "≤ 0.15 s", 0.15},
		{idleName, "≤ 30 MiB", 30 << 10},
	}
	if many <= 1000 {
		return append(names,
			lifeName{createName(many), "≤ 0.5 s", 0.5},
			lifeName{manyName(many), "≤ 100 MiB", 100 << 10},
			lifeName{restartName(many), "≤ 2 s", 2})
	}
	return append(names,
		lifeName{createName(many), "no target", math.Inf(1)},
		lifeName{manyName(many), "≤ 600 MiB", 600 << 10},
		lifeName{restartName(many), "≤ 15 s", 15})
}

const (
	startName = "start to first accepted produce, data exists"
	idleName  = "idle, 12 partitions: anonymous memory"
)

func createName(many int) string { return fmt.Sprintf("create %d partitions (slowest of 10)", many) }
func manyName(many int) string {
	return fmt.Sprintf("10 × %d idle partitions: anonymous memory", many)
}
func restartName(many int) string {
	return fmt.Sprintf("10 × %d partitions: restart to first produce", many)
}

// idleFor is how long a broker is left alone before its memory is taken.
const idleFor = 3 * time.Second

// lifecycle measures starts, idle memory and many partitions. It restarts the
// broker several times.
func lifecycle(b *broker, many int) (map[string]measure, error) {
	out := map[string]measure{}
	load := produceLoad{topic: "bench", partitions: partitions, perRequest: 1, records: 1, recordBytes: 100, connections: 1, inFlight: 1, totalBytes: partitions * 171}
	if err := b.fresh(); err != nil {
		return nil, err
	}
	if err := createTopics(b.addr, partitions, load.topic); err != nil {
		return nil, err
	}
	if _, err := load.run(b.addr); err != nil {
		return nil, err
	}
	if err := restart(b, load, out, startName); err != nil {
		return nil, err
	}
	if err := idle(b, out, idleName); err != nil {
		return nil, err
	}
	return out, manyPartitions(b, load, many, out)
}

// manyPartitions makes ten topics of many partitions each and restarts.
func manyPartitions(b *broker, load produceLoad, many int, out map[string]measure) error {
	worst := time.Duration(0)
	for i := range 10 {
		start := time.Now()
		if err := createTopics(b.addr, int32(many), fmt.Sprintf("many-%d", i)); err != nil {
			return err
		}
		worst = max(worst, time.Since(start))
	}
	out[createName(many)] = measure{short(worst), worst.Seconds()}
	if err := idle(b, out, manyName(many)); err != nil {
		return err
	}
	return restart(b, load, out, restartName(many))
}

// idle leaves the broker alone and takes its memory.
func idle(b *broker, out map[string]measure, name string) error {
	time.Sleep(idleFor)
	kib, err := b.anonymousKiB()
	out[name] = measure{fmt.Sprintf("%.0f MiB", float64(kib)/1024), float64(kib)}
	return err
}

// restart stops and starts the broker and waits for the first accepted produce.
func restart(b *broker, load produceLoad, out map[string]measure, name string) error {
	if err := b.stop(); err != nil {
		return err
	}
	start := time.Now()
	if err := b.start(); err != nil {
		return err
	}
	for {
		if _, err := load.run(b.addr); err == nil {
			break
		} else if time.Since(start) > 3*time.Minute {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(start)
	out[name] = measure{short(took), took.Seconds()}
	return nil
}
