package broker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/vfs"
)

// compactionTick is log.cleaner.backoff.ms of compactedBroker.
const compactionTick = time.Second

// now is when the tests of compaction begin.
func now() time.Time { return time.UnixMilli(1_700_000_000_000) }

// compactedTopic is a topic of small segments that is always worth a pass.
func compactedTopic() map[string]string {
	return map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01",
		"internal.segment.bytes": "2000", "delete.retention.ms": "86400000", "message.timestamp.before.max.ms": "9223372036854775807"}
}

// fillCompacted writes n records of ten keys to each partition, one batch each.
func fillCompacted(t *testing.T, b *brokertest.Broker, topic string, partitions, n int) {
	t.Helper()
	c := b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.MaxBufferedRecords(1))
	for i := range n {
		for p := range partitions {
			r := &kgo.Record{Topic: topic, Partition: int32(p), Key: fmt.Append(nil, "key ", i%10), Value: fmt.Append(nil, "value ", i), Timestamp: now()}
			if err := c.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// read fetches a partition from its start to end with a new client and calls f for each
// record in order.
func read(ctx context.Context, b *brokertest.Broker, topic string, end int64, f func(*kgo.Record)) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.FetchMaxWait(50*time.Millisecond), kgo.FetchMaxPartitionBytes(1500),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return err
	}
	defer c.Close()
	for next := int64(0); next < end; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("at offset %d of %d: %w", next, end, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset < next {
				err = fmt.Errorf("offset %d came after %d", r.Offset, next-1)
			}
			next = r.Offset + 1
			f(r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Clients fetch all the time while a topic is written and its segments are swapped for
// compacted ones; then the broker is killed and started. Readers see rising offsets,
// and the last value of every key is there at the end of each look, the records before
// it that are left in their old order.
func TestCompactedTopicIsReadWhileSegmentsAreSwapped(t *testing.T) {
	b, manual := compactedBroker(t, vfs.NewMem())
	b.CreateTopic("c", 1, compactedTopic())
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	last := map[string]string{} // what was acknowledged
	var readers sync.WaitGroup
	for round := range 5 {
		fillCompacted(t, b, "c", 1, 100)
		for i := range 100 {
			last[fmt.Sprint("key ", i%10)] = fmt.Sprint("value ", i)
		}
		end := int64(round+1) * 100
		for range 2 {
			readers.Go(func() {
				seen := map[string]string{}
				if err := read(ctx, b, "c", end, func(r *kgo.Record) { seen[string(r.Key)] = string(r.Value) }); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				if len(seen) != 10 {
					t.Errorf("round %d: %d keys, want 10", round, len(seen))
				}
			})
		}
		manual.Advance(compactionTick) // a pass, in this goroutine, while they read
		readers.Wait()
	}
	for _, crash := range []bool{false, true} {
		if crash {
			b.Crash(rand.New(rand.NewPCG(3, 4)))
		} else {
			b.Restart()
		}
		checkCompacted(ctx, t, b, last)
	}
}

// checkCompacted holds what is left to the last values, and to much less than 500
// records.
func checkCompacted(ctx context.Context, t *testing.T, b *brokertest.Broker, last map[string]string) {
	t.Helper()
	offsets, err := kadm.NewClient(b.Client()).ListEndOffsets(ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	end, _ := offsets.Lookup("c", 0)
	records, seen := 0, map[string]string{}
	if err := read(ctx, b, "c", end.Offset, func(r *kgo.Record) { records++; seen[string(r.Key)] = string(r.Value) }); err != nil {
		t.Fatal(err)
	}
	if end.Offset == 500 {
		for key, want := range last {
			if seen[key] != want {
				t.Errorf("%s is %q, want %q", key, seen[key], want)
			}
		}
	}
	if len(seen) != 10 || records > 100 {
		t.Errorf("%d records of %d keys stay of 500", records, len(seen))
	}
}
