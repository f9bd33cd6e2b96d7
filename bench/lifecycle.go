package main

import (
	"fmt"
	"time"
)

// row is a finished line of the table.
type row struct {
	name, target string
	ours, theirs string
	ratio        string
}

// lifecycle measures starts, idle memory and many partitions. It restarts the
// broker several times.
func lifecycle(b *broker, many int32) (map[string]measure, error) {
	out := map[string]measure{}
	load := produceLoad{topic: "bench", partitions: 1, perRequest: 1, records: 1, recordBytes: 100, connections: 1, inFlight: 1, totalBytes: 171}
	if err := b.fresh(); err != nil {
		return nil, err
	}
	if err := createTopics(b.addr, 12, "bench"); err != nil {
		return nil, err
	}
	if _, err := load.run(b.addr); err != nil {
		return nil, err
	}
	if err := restart(b, load, out, "start to first accepted produce, data exists"); err != nil {
		return nil, err
	}
	kib, err := b.anonymousKiB()
	if err != nil {
		return nil, err
	}
	out["idle, 12 partitions: anonymous memory"] = memory(kib)
	return out, manyPartitions(b, load, many, out)
}

// manyPartitions makes ten topics of many partitions each and restarts.
func manyPartitions(b *broker, load produceLoad, many int32, out map[string]measure) error {
	worst := time.Duration(0)
	for i := range 10 {
		start := time.Now()
		if err := createTopics(b.addr, many, fmt.Sprintf("many-%d", i)); err != nil {
			return err
		}
		worst = max(worst, time.Since(start))
	}
	out[fmt.Sprintf("create %d partitions (slowest of 10)", many)] = measure{short(worst), worst.Seconds()}
	time.Sleep(3 * time.Second) // idle means idle
	kib, err := b.anonymousKiB()
	if err != nil {
		return err
	}
	out[fmt.Sprintf("10 × %d idle partitions: anonymous memory", many)] = memory(kib)
	return restart(b, load, out, fmt.Sprintf("10 × %d partitions: restart to first produce", many))
}

// measure is one figure of one broker.
type measure struct {
	text  string
	value float64
}

func memory(kib int64) measure {
	return measure{fmt.Sprintf("%.0f MiB", float64(kib)/1024), float64(kib)}
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
