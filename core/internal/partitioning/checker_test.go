package partitioning

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/sdk/partitioner"
)

// byLength puts a key on the partition of its length.
var byLength = partitioner.Func(func(_ string, key []byte, partitions int32) int32 { return int32(len(key)) % partitions })

// broken gives no answer.
type broken struct{}

func (broken) Assign(context.Context, *partitioner.Request, []int32) error { return errors.New("down") }

// checkerOf has the partitioners by name.
func checkerOf(all map[string]partitioner.Partitioner) *Checker {
	return New(Options{Partitioner: func(name string) (partitioner.Partitioner, bool) {
		p, ok := all[name]
		return p, ok
	}})
}

// batchOf has a record for each key; "-" is a null one.
func batchOf(codec record.Codec, keys ...string) record.Batch {
	b := record.NewBuilder(record.PlainOptions(codec))
	for _, key := range keys {
		k := []byte(key)
		if key == "-" {
			k = nil
		}
		b.Append(1, k, []byte("value"), nil)
	}
	return b.Bytes()
}

// check checks records on partition 2 of 4.
func check(c *Checker, mode config.PartitionerCheck, name string, records record.Batch) *Refusal {
	return c.Check(&Batch{Topic: "t", Partition: 2, Partitions: 4, Records: records,
		Config: &config.Topic{Partitioner: name, PartitionerCheck: mode}})
}

func TestChecks(t *testing.T) {
	mixed := []string{"aa", "bbb", "-", "", "cc", "d"}
	for _, c := range []struct {
		says                         string
		mode                         config.PartitionerCheck
		name                         string
		records                      record.Batch
		placed, misplaced, unchecked uint64
		code                         kafka.ErrorCode
		refused                      []int32
	}{
		{"off", config.PartitionerOff, "", batchOf(record.None, mixed...), 0, 0, 0, kafka.None, nil},
		{"count", config.PartitionerCount, "", batchOf(record.None, mixed...), 2, 2, 0, kafka.None, nil},
		{"count, compressed", config.PartitionerCount, "", batchOf(record.Zstd, mixed...), 2, 2, 0, kafka.None, nil},
		{"reject", config.PartitionerReject, "", batchOf(record.None, mixed...), 2, 2, 0, kafka.ErrInvalidRecord, []int32{1, 5}},
		{"reject, all right", config.PartitionerReject, "", batchOf(record.None, "aa", "-"), 1, 0, 0, kafka.None, nil},
		{"reject, no keys", config.PartitionerReject, "", batchOf(record.None, "-", ""), 0, 0, 0, kafka.None, nil},
		{"count, silent", config.PartitionerCount, "broken", batchOf(record.None, "aa"), 0, 0, 1, kafka.None, nil},
		{"reject, silent", config.PartitionerReject, "broken", batchOf(record.None, "aa"), 0, 0, 1, kafka.ErrNotEnoughReplicas, nil},
		{"count, unheard of", config.PartitionerCount, "nobody", batchOf(record.None, "aa"), 0, 0, 1, kafka.None, nil},
		{"reject, unheard of", config.PartitionerReject, "nobody", batchOf(record.None, "aa"), 0, 0, 1, kafka.ErrNotEnoughReplicas, nil},
	} {
		t.Run(c.says, func(t *testing.T) {
			checker := checkerOf(map[string]partitioner.Partitioner{DefaultPartitioner: byLength, "broken": broken{}})
			r := check(checker, c.mode, c.name, c.records)
			if r == nil {
				r = &Refusal{}
			}
			var refused []int32
			for _, e := range r.Records {
				refused = append(refused, e.Index)
			}
			if r.Code != c.code || fmt.Sprint(refused) != fmt.Sprint(c.refused) {
				t.Errorf("%v about the records %v (%s), want %v about %v", r.Code, refused, r.Message, c.code, c.refused)
			}
			m := checker.counters("t")
			if m.placed.Load() != c.placed || m.misplaced.Load() != c.misplaced || m.unchecked.Load() != c.unchecked {
				t.Errorf("counted %d placed, %d misplaced, %d unchecked, want %d, %d, %d",
					m.placed.Load(), m.misplaced.Load(), m.unchecked.Load(), c.placed, c.misplaced, c.unchecked)
			}
		})
	}
}

// Large batches are more than one question.
func TestManyKeys(t *testing.T) {
	var keys []string
	for n := range 2*partitioner.MaxKeys + 10 {
		keys = append(keys, fmt.Sprint("a", n%10))
	}
	keys[partitioner.MaxKeys+5] = "abc"
	largest := 0
	counting := asks(func(r *partitioner.Request, out []int32) {
		largest = max(largest, len(r.Keys))
		byLength.Assign(context.Background(), r, out) //nolint:errcheck // it has none
	})
	c := checkerOf(map[string]partitioner.Partitioner{DefaultPartitioner: counting})
	r := check(c, config.PartitionerReject, "", batchOf(record.None, keys...))
	if r == nil || len(r.Records) != 1 || r.Records[0].Index != int32(partitioner.MaxKeys+5) || largest > partitioner.MaxKeys {
		t.Errorf("%+v with questions of up to %d keys", r, largest)
	}
}

type asks func(r *partitioner.Request, out []int32)

func (a asks) Assign(_ context.Context, r *partitioner.Request, out []int32) error {
	a(r, out)
	return nil
}

// Bytes that are no records are the log's to refuse, and a refusal is bounded.
func TestUnreadableAndEndless(t *testing.T) {
	c := checkerOf(map[string]partitioner.Partitioner{DefaultPartitioner: byLength})
	bad := batchOf(record.None, "aa", "bbb")
	if r := check(c, config.PartitionerReject, "", bad[:len(bad)-3]); r != nil {
		t.Errorf("a cut batch: %+v", r)
	}
	var keys []string
	for range 10 * reportedMax {
		keys = append(keys, "x")
	}
	if r := check(c, config.PartitionerReject, "", batchOf(record.None, keys...)); len(r.Records) != reportedMax {
		t.Errorf("%d records are named, want %d", len(r.Records), reportedMax)
	}
}

func TestTopicsWithNumbersAreBounded(t *testing.T) {
	c := checkerOf(map[string]partitioner.Partitioner{DefaultPartitioner: byLength})
	for n := range 2 * topicsMax {
		c.counters(fmt.Sprint(n))
	}
	if len(c.topics) > topicsMax+1 {
		t.Errorf("%d topics have numbers", len(c.topics))
	}
}

// TestCost holds the allocations of a check: the iterator, and a context for each
// question.
func TestCost(t *testing.T) {
	c := checkerOf(map[string]partitioner.Partitioner{DefaultPartitioner: byLength})
	records := batchOf(record.None, "aa", "bb", "cc")
	if n := testing.AllocsPerRun(200, func() { check(c, config.PartitionerCount, "", records) }); n > 8 {
		t.Errorf("%v allocations a batch, want at most 8", n)
	}
	if n := testing.AllocsPerRun(200, func() { check(c, config.PartitionerOff, "", records) }); n > 2 {
		t.Errorf("%v allocations a batch that is not checked, all of them the test's; want at most 2", n)
	}
}

func BenchmarkCount1KiB(b *testing.B) {
	c := checkerOf(map[string]partitioner.Partitioner{DefaultPartitioner: byLength})
	builder := record.NewBuilder(record.PlainOptions(record.None))
	for n := range 64 {
		builder.Append(1, fmt.Append(nil, "key-", n), make([]byte, 1024), nil)
	}
	records := builder.Bytes()
	b.SetBytes(int64(len(records)))
	for b.Loop() {
		check(c, config.PartitionerCount, "", records)
	}
}
