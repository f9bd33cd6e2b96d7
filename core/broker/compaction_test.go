package broker_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
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
	ctx, stop := context.WithTimeout(t.Context(), patience)
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

// tree is this module's core as paths and contents.
func tree(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		content, err := fs.ReadFile(root, path)
		files[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// load writes the files in the order of their paths: path as key, content as value.
func load(t *testing.T, b *brokertest.Broker, topic string, files map[string]string) {
	t.Helper()
	c := b.Client(kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(60_000))
	var records []*kgo.Record
	for _, path := range slices.Sorted(maps.Keys(files)) {
		records = append(records, &kgo.Record{Key: []byte(path), Value: []byte(files[path]), Timestamp: now()})
	}
	if err := c.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// A source tree is loaded twice, a tenth of it changed in between. After the cleaning
// there is the last version of each path, byte for byte, once, and nothing else.
func TestCompactedTreeHasTheLastVersionsOnly(t *testing.T) {
	b, manual := compactedBroker(t, vfs.NewMem())
	b.CreateTopic("tree", 1, map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01",
		"internal.segment.bytes": "100000", "message.timestamp.before.max.ms": "9223372036854775807", "segment.ms": "1000"})
	files := tree(t)
	load(t, b, "tree", files)
	changed := 0
	for i, path := range slices.Sorted(maps.Keys(files)) {
		if i%10 == 0 {
			files[path] += "// changed\n"
			changed++
		}
	}
	load(t, b, "tree", files)
	if changed < 20 {
		t.Fatalf("%d files changed: this is no tree", changed)
	}
	// The active segment is not cleaned: a record behind it makes it one of the others.
	c := b.Client(kgo.DefaultProduceTopic("tree"))
	roll := &kgo.Record{Key: []byte("~roll"), Timestamp: now().Add(time.Minute)}
	if err := c.ProduceSync(t.Context(), roll).FirstErr(); err != nil {
		t.Fatal(err)
	}
	manual.Advance(2 * compactionTick)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	seen := map[string]string{}
	err := read(ctx, b, "tree", int64(2*len(files))+1, func(r *kgo.Record) {
		if _, twice := seen[string(r.Key)]; twice {
			t.Errorf("%s is there twice", r.Key)
		}
		seen[string(r.Key)] = string(r.Value)
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(seen, "~roll")
	if !maps.Equal(seen, files) {
		t.Errorf("%d paths stay, want the %d as they were last", len(seen), len(files))
	}
}
