package main

import (
	"fmt"
	"time"
)

// scenario is one row of the table: what to do to a broker, how to show it, and
// what is wanted.
type scenario struct {
	name   string
	limits []limit
	// topic is made before each run, and named for it; empty: the topic that the
	// warm-up filled.
	topic   string
	configs map[string]string // of the topic
	bare    bool              // the bare sendfile loop can do it too
	run     func(addr, topic string) (result, error)
	show    func(r result) string
	// figure orders the repeats, of which the median counts.
	figure func(r result) float64
}

const (
	mib        = 1 << 20
	gib        = 1 << 30
	partitions = 12 // of every topic of a load
	warmTopic  = "warm"
	// warmReadMiB of the warm-up are what the readers read.
	warmReadMiB = 1024
)

// scenarios are the workloads of one broker. scale 1 moves some 2 GiB a row.
func scenarios(scale float64) []scenario {
	sized := func(n int64) int64 { return max(64*mib, int64(float64(n)*scale)) }
	base := produceLoad{partitions: partitions, perRequest: 1, records: 63, recordBytes: 1024, connections: 1, inFlight: 5, totalBytes: sized(2 * gib)}
	four, wide, small, tiny := base, base, base, base
	four.connections = 4
	wide.perRequest = partitions
	small.records, small.totalBytes = 15, sized(gib)
	tiny.records, tiny.recordBytes, tiny.totalBytes = 1, 100, int64(120_000*scale)*171
	return []scenario{
		produce("produce, 64 KiB batches, 1 connection", base, faster(2.5), cheaper(0.35)),
		produce("produce, 64 KiB batches, 4 connections", four, faster(1.8), cheaper(0.4)),
		produce("produce, 12 partitions a request (768 KiB)", wide, faster(3)),
		produce("produce, 16 KiB batches, 1 connection", small, faster(3)),
		requests("produce, one 100-byte record a request", tiny, faster(4), cpuEach(12*time.Microsecond)),
		consume("consume, 1 reader", 1, 3, faster(1.1), cheaper(0.8), ofBare(0.95)),
		consume("consume, 10 readers of everything", 10, 1, faster(1.1)),
		endToEnd("end to end, 4 KiB batches, 1 MiB/s", 4<<10, mib, scale,
			quantile("p50", 0.5, 300*time.Microsecond), quantile("p99", 0.99, 3*time.Millisecond)),
		endToEnd("end to end, 16 KiB batches, 80 MiB/s", 16<<10, 80*mib, scale, quicker(0.1)),
	}
}

func produce(name string, l produceLoad, limits ...limit) scenario {
	run := func(addr, topic string) (result, error) {
		l.topic = topic
		return l.run(addr)
	}
	return scenario{name: name, limits: limits, topic: "produce", run: run, show: showThroughput, figure: throughput}
}

// requests is a produce workload that is shown in requests a second. All are of
// one size, so bytes a second compare as well.
func requests(name string, l produceLoad, limits ...limit) scenario {
	s := produce(name, l, limits...)
	s.show = func(r result) string {
		return fmt.Sprintf("%.0f req/s, %.1f µs CPU each", float64(r.requests)/r.elapsed.Seconds(), r.cpuEach().Seconds()*1e6)
	}
	return s
}

func consume(name string, readers, rounds int, limits ...limit) scenario {
	run := func(addr, topic string) (result, error) {
		return consumeLoad{topic: topic, partitions: partitions, readers: readers, partitionBytes: mib, rounds: rounds}.run(addr)
	}
	return scenario{name: name, limits: limits, bare: true, run: run, show: showThroughput, figure: throughput}
}

func endToEnd(name string, batchBytes int, rate int64, scale float64, limits ...limit) scenario {
	run := func(addr, topic string) (result, error) {
		return endToEndLoad{topic: topic, partitions: partitions, batchBytes: batchBytes, rateBytes: rate,
			duration: time.Duration((2 + 10*scale) * float64(time.Second))}.run(addr)
	}
	figure := func(r result) float64 { return r.latency.at(0.99).Seconds() }
	return scenario{name: name, limits: limits, topic: "e2e", run: run, show: showLatency, figure: figure}
}

// measure runs the scenario once on b, on a topic of its own.
func (s scenario) measure(b *broker) (result, error) {
	topic, err := s.prepare(b)
	if err != nil {
		return result{}, err
	}
	return s.measureOn(b, topic)
}

// prepare makes the topic of one run.
func (s scenario) prepare(b *broker) (topic string, err error) {
	if s.topic == "" {
		return warmTopic, nil
	}
	b.topics++
	topic = fmt.Sprintf("%s-%d", s.topic, b.topics)
	return topic, b.createTopic(topic, s.configs)
}

// measureOn runs the scenario on a topic and adds the broker's CPU and memory.
func (s scenario) measureOn(b *broker, topic string) (result, error) {
	before, err := b.cpu()
	if err != nil {
		return result{}, err
	}
	r, err := s.run(b.addr, topic)
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
