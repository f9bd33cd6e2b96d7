package main

import (
	"fmt"
	"time"
)

// scenario is one row of the table: what to do to a broker, how to show it, and
// what is wanted of the ratio.
type scenario struct {
	name   string
	target string
	run    func(b *broker) (result, error)
	show   func(r result) string
	// figure is what the ratio is made of; bigger says whether more is better.
	figure func(r result) float64
	bigger bool
}

const (
	mib = 1 << 20
	gib = 1 << 30
)

// scenarios are the workloads of one broker, in the order in which they run:
// the consumers read what the first producers wrote.
func scenarios(scale float64) []scenario {
	sized := func(n int64) int64 { return max(64*mib, int64(float64(n)*scale)) }
	produce := func(name, target string, l produceLoad) scenario {
		return scenario{name, target, measured(func(b *broker) (result, error) { return l.run(b.addr) }), showThroughput, throughput, true}
	}
	base := produceLoad{topic: "bench", partitions: 12, perRequest: 1, records: 63, recordBytes: 1024, connections: 1, inFlight: 5, totalBytes: sized(2 * gib)}
	four, wide, small, tiny := base, base, base, base
	four.connections = 4
	wide.perRequest, wide.totalBytes = 12, sized(2*gib)
	small.records, small.totalBytes = 15, sized(gib)
	tiny.topic, tiny.records, tiny.recordBytes, tiny.inFlight = "tiny", 1, 100, 5
	tiny.totalBytes = int64(200_000*scale+20_000) * 171
	read := func(name, target string, readers int) scenario {
		l := consumeLoad{topic: "bench", partitions: 12, readers: readers, partitionBytes: mib, rounds: 1}
		return scenario{name, target, measured(func(b *broker) (result, error) { return l.run(b.addr) }), showThroughput, throughput, true}
	}
	e2e := func(name, target string, batchBytes int, rate int64) scenario {
		l := endToEndLoad{topic: fmt.Sprintf("e2e-%d-%d", batchBytes, rate/mib), partitions: 12, batchBytes: batchBytes, rateBytes: rate, duration: time.Duration(10*scale+5) * time.Second}
		run := func(b *broker) (result, error) {
			if err := createTopics(b.addr, 12, l.topic); err != nil {
				return result{}, err
			}
			return l.run(b.addr)
		}
		return scenario{name, target, measured(run), showLatency, func(r result) float64 { return r.latency.at(0.99).Seconds() }, false}
	}
	return []scenario{
		produce("produce, 64 KiB batches, 1 connection", "≥ 2.5×, ≤ 0.35× CPU", base),
		produce("produce, 64 KiB batches, 4 connections", "≥ 1.8×, ≤ 0.4× CPU", four),
		produce("produce, 12 partitions a request (768 KiB)", "≥ 3×", wide),
		produce("produce, 16 KiB batches, 1 connection", "≥ 3×", small),
		requests("produce, one 100-byte record a request", "≥ 4×, ≤ 12 µs", tiny),
		read("consume, 1 reader", "≥ 1.1×, ≤ 0.8× CPU", 1),
		read("consume, 10 readers of everything", "≥ 1.1×, CPU flat", 10),
		e2e("end to end, 4 KiB batches, 1 MiB/s", "p50 ≤ 0.3 ms, p99 ≤ 3 ms", 4<<10, mib),
		e2e("end to end, 16 KiB batches, 80 MiB/s", "p99 ≤ 0.1×", 16<<10, 80*mib),
	}
}

// requests is a produce workload whose figure is requests a second.
func requests(name, target string, l produceLoad) scenario {
	run := func(b *broker) (result, error) {
		if err := createTopics(b.addr, int32(l.partitions), l.topic); err != nil {
			return result{}, err
		}
		return l.run(b.addr)
	}
	show := func(r result) string {
		return fmt.Sprintf("%.0f req/s, %.1f µs CPU each", float64(r.requests)/r.elapsed.Seconds(),
			r.cpu.Seconds()*1e6/float64(r.requests))
	}
	return scenario{name, target, measured(run), show, func(r result) float64 { return float64(r.requests) / r.elapsed.Seconds() }, true}
}

// measured adds the broker's CPU and memory to what a workload showed.
func measured(run func(*broker) (result, error)) func(*broker) (result, error) {
	return func(b *broker) (result, error) {
		before, err := b.cpu()
		if err != nil {
			return result{}, err
		}
		r, err := run(b)
		if err != nil {
			return r, err
		}
		after, err := b.cpu()
		if err != nil {
			return r, err
		}
		r.cpu = after - before
		r.anonKiB, err = b.anonymousKiB()
		return r, err
	}
}

func throughput(r result) float64 { return float64(r.bytes) / r.elapsed.Seconds() }

// cpuPerGiB is the broker's CPU seconds for each GiB moved.
func cpuPerGiB(r result) float64 { return r.cpu.Seconds() * gib / float64(r.bytes) }

func showThroughput(r result) string {
	text := fmt.Sprintf("%.0f MB/s, %.2f CPU s/GiB", throughput(r)/1e6, cpuPerGiB(r))
	if len(r.latency) > 0 {
		text += fmt.Sprintf(", p99 %s", short(r.latency.at(0.99)))
	}
	return text
}

func showLatency(r result) string {
	return fmt.Sprintf("p50 %s, p99 %s, p999 %s", short(r.latency.at(0.5)), short(r.latency.at(0.99)), short(r.latency.at(0.999)))
}

// short shows a duration with three figures.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.0f µs", d.Seconds()*1e6)
}
