package clusterload_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var scale = flag.Int("partitions", 0, "partitions of three nodes that TestScale measures, in topics of 100; 0: it does not run")

// Bounds at 10,000 partitions with three replicas, on a machine that does nothing else.
const (
	idleMax     = 0.10 // of one core, by all three nodes together
	failoverMax = 5 * time.Second
	// What a node has for its connections and its own work, however many partitions it holds.
	goroutinesMax = 200
	handlesMax    = 200
)

// Of the measurement.
const (
	scaleNodes      = 3
	topicPartitions = 100
	idleAfter       = 20 * time.Second // until checkpoints are written
	idleFor         = 30 * time.Second
	leadersEvery    = 100 * time.Millisecond // how often clients look who leads
	scaleBuffered   = 1_000_000              // records that wait for their acknowledgement
)

// scaled is a cluster that holds many partitions.
type scaled struct {
	*world
	topics   []string
	producer *kgo.Client
}

// TestScale measures what thousands of partitions with three replicas cost three nodes:
// to make them, to have them lie idle, and to lose the node that leads a third of them.
func TestScale(t *testing.T) {
	if *scale == 0 {
		t.Skip("-partitions says how many; make soak does")
	}
	w := newWorld(t, scaleNodes, scaleNodes, nil)
	w.voting(scaleNodes)
	s := &scaled{world: w}
	for n := range (*scale + topicPartitions - 1) / topicPartitions {
		s.topics = append(s.topics, fmt.Sprintf("scale-%03d", n))
	}
	s.producer = w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MetadataMinAge(leadersEvery), kgo.MaxBufferedRecords(scaleBuffered), kgo.ProducerLinger(0))
	before := s.usage()
	t.Logf("none: %s", before)
	s.create()
	s.idle("empty")
	s.write(s.ledBy(0), "one record to each")
	s.idle("one record each")
	controller := s.controller()
	s.failover(controller%scaleNodes + 1)
	s.failover(controller)
}

// create makes all partitions with one request.
func (s *scaled) create() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	before, began := s.usage(), time.Now()
	answers, err := s.admin.CreateTopics(ctx, topicPartitions, scaleNodes, nil, s.topics...)
	s.must(err)
	s.must(answers.Error())
	asked := time.Since(began)
	here := s.led(0, began)
	s.t.Logf("created %d partitions in %d topics: answered after %s, led after %s; %s", len(s.topics)*topicPartitions, len(s.topics),
		asked, here, s.usage().since(before))
}

// idle measures what the nodes do while nobody wants anything.
func (s *scaled) idle(what string) {
	s.t.Helper()
	s.after(idleAfter)
	before := s.usage()
	s.after(idleFor)
	after := s.usage()
	spent := after.since(before)
	s.t.Logf("%s: %s", what, after)
	s.t.Logf("%s, idle for %s: %.2f %% of a core; %s", what, idleFor, 100*spent.cpu().Seconds()/idleFor.Seconds(), spent)
	if !*strict {
		return
	}
	if share := spent.cpu().Seconds() / idleFor.Seconds(); share > idleMax {
		s.t.Errorf("%s: idle nodes take %.1f %% of a core, want at most %.0f %%", what, 100*share, 100*idleMax)
	}
	for i, u := range after {
		if u.goroutines > goroutinesMax || u.handles-u.segments > handlesMax {
			s.t.Errorf("%s: node %d has %d goroutines and %d handles that are not of segments, want at most %d and %d",
				what, i+1, u.goroutines, u.handles-u.segments, goroutinesMax, handlesMax)
		}
	}
}

// failover kills a node, and waits until all partitions are led again and those that it
// led take records; then the node comes back.
func (s *scaled) failover(victim int32) {
	s.t.Helper()
	moved := s.ledBy(victim)
	before, began := s.usage(), time.Now()
	s.must(s.node(victim).Kill())
	var led time.Duration
	var acked acks
	var both sync.WaitGroup
	both.Go(func() { led = s.led(victim, began) })
	both.Go(func() { acked = s.acknowledge(moved) })
	both.Wait()
	name := "a node"
	if before[victim-1].controls {
		name = "the controller"
	}
	s.t.Logf("%s was killed: %d partitions are led by others after %s, and took a record each after %s; %s", name, len(moved),
		led, acked, s.usage().since(before))
	if took := max(led, acked.last()); *strict && took > failoverMax {
		s.t.Errorf("%d partitions moved within %s, want at most %s", len(moved), took, failoverMax)
	}

	began = time.Now()
	s.restart(victim)
	served := time.Since(began)
	s.allInSync()
	s.t.Logf("started again: serves after %s, all in sync after %s", served, time.Since(began))
	s.lead()
}

// write writes a record to each of some partitions.
func (s *scaled) write(to []place, what string) {
	s.t.Helper()
	before := s.usage()
	took := s.acknowledge(to)
	s.t.Logf("%s of %d partitions: %s; %s", what, len(to), took, s.usage().since(before))
}

// acknowledge writes a record to each of some partitions and waits until all in sync have
// them.
func (s *scaled) acknowledge(to []place) (took acks) {
	s.t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	var wrong error
	all.Add(len(to))
	for _, p := range to {
		s.producer.Produce(ctx, &kgo.Record{Topic: p.topic, Partition: p.partition, Value: make([]byte, recordBytes)}, func(_ *kgo.Record, err error) {
			mu.Lock()
			wrong, took = cmp.Or(wrong, err), append(took, time.Since(began))
			mu.Unlock()
			all.Done()
		})
	}
	all.Wait()
	if wrong != nil {
		s.t.Error(wrong)
	}
	return took
}

// acks are how long acknowledgements took, in the order in which they came.
type acks []time.Duration

// last is when all had come.
func (a acks) last() time.Duration {
	if len(a) == 0 {
		return 0
	}
	return a[len(a)-1]
}

// String is when half of them, most of them and all of them had come.
func (a acks) String() string {
	if len(a) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%s (half of them after %s, 99 %% after %s)", a.last(), a[len(a)/2], a[len(a)*99/100])
}

// place is a partition.
type place struct {
	topic     string
	partition int32
}

// ledBy are the partitions that a node leads; 0: all.
func (s *scaled) ledBy(node int32) (all []place) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	topics, err := s.admin.ListTopics(ctx, s.topics...)
	s.must(err)
	for _, t := range topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			if node == 0 || p.Leader == node {
				all = append(all, place{t.Topic, p.Partition})
			}
		}
	}
	return all
}

// led waits until clients are told of a leader of each partition that is not the node
// that was lost, and gives how long that took.
func (s *scaled) led(lost int32, began time.Time) time.Duration {
	s.t.Helper()
	s.each("led", func(p kadm.PartitionDetail) bool { return p.Leader > 0 && p.Leader != lost })
	return time.Since(began)
}

// allInSync waits until every replica is in sync.
func (s *scaled) allInSync() {
	s.t.Helper()
	s.each("in sync", func(p kadm.PartitionDetail) bool { return p.Leader > 0 && len(p.ISR) == scaleNodes })
}

// each waits until something is so of each partition.
func (s *scaled) each(what string, is func(kadm.PartitionDetail) bool) {
	s.t.Helper()
	s.until(what, func(ctx context.Context) bool {
		topics, err := s.admin.ListTopics(ctx, s.topics...)
		if err != nil {
			return false
		}
		count := 0
		for _, t := range topics {
			for _, p := range t.Partitions {
				if !is(p) {
					return false
				}
				count++
			}
		}
		return count == len(s.topics)*topicPartitions
	})
}

// controller is the node that decides.
func (s *scaled) controller() int32 {
	s.t.Helper()
	for i, u := range s.usage() {
		if u.controls {
			return int32(i + 1)
		}
	}
	s.t.Fatal("nobody decides")
	return 0
}

// after lets time pass.
func (s *scaled) after(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.t.Context().Done():
	}
}
