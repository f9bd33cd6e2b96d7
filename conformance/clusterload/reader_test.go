package clusterload_test

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// reader reads every partition of a topic from its start. What is read must be 0, 1, 2, …
// at the offsets 0, 1, 2, …
type reader struct {
	read    []atomic.Int64 // of each partition
	wrong   func(format string, args ...any)
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// startReader begins to read, until stop.
func startReader(w *world, topic string, partitions int, wrong func(format string, args ...any)) *reader {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &reader{read: make([]atomic.Int64, partitions), wrong: wrong, cancel: cancel}
	offsets := map[int32]kgo.Offset{}
	for p := range partitions {
		offsets[int32(p)] = kgo.NewOffset().At(0)
	}
	c := w.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxWait(200*time.Millisecond))
	r.running.Go(func() {
		defer c.Close()
		for ctx.Err() == nil {
			r.poll(ctx, c)
		}
	})
	return r
}

func (r *reader) poll(ctx context.Context, c *kgo.Client) {
	fetches := c.PollFetches(ctx)
	fetches.EachError(func(topic string, partition int32, err error) {
		if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
			r.wrong("reading %s-%d at %d: %v", topic, partition, r.read[max(partition, 0)].Load(), err)
		}
	})
	fetches.EachRecord(func(got *kgo.Record) {
		read := &r.read[got.Partition]
		number, want := int64(binary.BigEndian.Uint64(got.Value)), read.Load()
		if number != want || got.Offset != want {
			r.wrong("%s-%d has %d at offset %d with epoch %d, want %d", got.Topic, got.Partition, number, got.Offset, got.LeaderEpoch, want)
		}
		read.Add(1)
	})
}

// total is how much was read.
func (r *reader) total() (sum int64) {
	for i := range r.read {
		sum += r.read[i].Load()
	}
	return sum
}

func (r *reader) stop() {
	r.cancel()
	r.running.Wait()
}

// readAgain reads so many records of a topic once more.
func (w *world) readAgain(topic string, partitions int, total int64) {
	w.t.Helper()
	var wrong atomic.Int64
	r := startReader(w, topic, partitions, func(format string, args ...any) {
		if wrong.Add(1) < wrongMax {
			w.t.Errorf("read again: "+format, args...)
		}
	})
	defer r.stop()
	w.until("read again", func(context.Context) bool { return r.total() >= total || wrong.Load() > 0 })
}
