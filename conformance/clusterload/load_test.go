package clusterload_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Of each record.
const (
	recordBytes  = 200
	wrongMax     = 10   // faults that are told
	bufferedMax  = 5000 // records that wait for their acknowledgement
	produceEvery = 5 * time.Millisecond
)

// load writes numbers 0, 1, 2, … to each partition of a topic and reads them back, until
// it is stopped. What is read must be each number once and in order.
type load struct {
	w          *world
	topic      string
	producer   *kgo.Client
	stop       context.CancelFunc
	running    sync.WaitGroup
	partitions []*partitionLoad
	stopReader context.CancelFunc
	reading    sync.WaitGroup

	mu    sync.Mutex
	wrong []string // guarded by mu
}

// partitionLoad is what was written to one partition and read from it.
type partitionLoad struct {
	id    int32
	sent  int64 // by the producer's goroutine only
	acked atomic.Int64
	read  atomic.Int64

	mu      sync.Mutex
	lastAck time.Time     // guarded by mu
	gap     time.Duration // guarded by mu; the longest between two acknowledgements
}

// startLoad writes to and reads from a topic of so many partitions.
func startLoad(w *world, topic string, partitions int) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{w: w, topic: topic, stop: stop}
	l.producer = w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.StopProducerOnDataLossDetected(), kgo.MaxBufferedRecords(bufferedMax), kgo.ProducerLinger(0))
	for p := range partitions {
		l.partitions = append(l.partitions, &partitionLoad{id: int32(p), lastAck: time.Now()})
	}
	l.running.Go(func() { l.produce(ctx) })
	l.read()
	w.t.Cleanup(func() { // before the clients are closed, which would be asked without a pause
		l.stop()
		l.stopReader()
	})
	return l
}

// read begins to read, until stopReader.
func (l *load) read() {
	ctx, stop := context.WithCancel(context.Background())
	l.stopReader = stop
	l.reading.Go(func() { l.consume(ctx) })
}

// fault notes what is wrong.
func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) < wrongMax {
		l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	}
}

// produce writes the next number to each partition, over and over.
func (l *load) produce(ctx context.Context) {
	next := time.NewTicker(produceEvery)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		for _, p := range l.partitions {
			value := binary.BigEndian.AppendUint64(make([]byte, 0, recordBytes), uint64(p.sent))
			r := &kgo.Record{Topic: l.topic, Partition: p.id, Value: value[:recordBytes]}
			want := p.sent
			p.sent++
			l.producer.Produce(context.Background(), r, func(r *kgo.Record, err error) {
				if err != nil {
					l.fault("%d of partition %d was not taken: %v", want, p.id, err)
					return
				}
				if r.Offset != want {
					l.fault("%d of partition %d has the offset %d", want, p.id, r.Offset)
				}
				p.ack()
			})
		}
	}
}

// ack notes that a record was acknowledged.
func (p *partitionLoad) ack() {
	p.acked.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.gap = max(p.gap, now.Sub(p.lastAck))
	p.lastAck = now
}

// gaps starts to measure gaps anew and gives what there was before.
func (l *load) gaps() time.Duration {
	longest := time.Duration(0)
	for _, p := range l.partitions {
		p.mu.Lock()
		longest = max(longest, p.gap, time.Since(p.lastAck))
		p.gap = 0
		p.mu.Unlock()
	}
	return longest
}

// acknowledged waits until each partition has taken records that were sent from now on.
func (l *load) acknowledged() time.Duration {
	const more = 2 * bufferedMax / 100 // beyond what is on its way while all is well
	wanted := make([]int64, len(l.partitions))
	for i, p := range l.partitions {
		wanted[i] = p.acked.Load() + more
	}
	return l.w.until("acknowledged", func(context.Context) bool {
		for i, p := range l.partitions {
			if p.acked.Load() < wanted[i] {
				return false
			}
		}
		return !l.failed()
	})
}

func (l *load) failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.wrong) > 0
}

// consume reads every partition from its start.
func (l *load) consume(ctx context.Context) {
	offsets := map[int32]kgo.Offset{}
	for _, p := range l.partitions {
		offsets[p.id] = kgo.NewOffset().At(0)
	}
	c := l.w.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{l.topic: offsets}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxWait(200*time.Millisecond))
	defer c.Close()
	for ctx.Err() == nil {
		fetches := c.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) {
			if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
				l.fault("reading %s-%d: %v", topic, partition, err)
			}
		})
		fetches.EachRecord(func(r *kgo.Record) {
			p := l.partitions[r.Partition]
			number, want := int64(binary.BigEndian.Uint64(r.Value)), p.read.Load()
			if number != want || r.Offset != want {
				l.fault("partition %d has %d at offset %d, want %d", p.id, number, r.Offset, want)
			}
			p.read.Add(1)
		})
	}
}

// end stops writing, waits for all acknowledgements and until all of it is read, and
// reads everything once more.
func (l *load) end() {
	l.w.t.Helper()
	l.stop()
	l.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := l.producer.Flush(ctx); err != nil {
		l.fault("records without an answer: %v", err)
	}
	l.caughtUp()
	l.stopReader()
	l.reading.Wait()
	for _, p := range l.partitions {
		p.read.Store(0)
	}
	l.read()
	l.caughtUp()
	l.stopReader()
	l.reading.Wait()
	total := int64(0)
	for _, p := range l.partitions {
		if acked, read := p.acked.Load(), p.read.Load(); acked != p.sent || read != p.sent {
			l.fault("partition %d: %d sent, %d acknowledged, %d read", p.id, p.sent, acked, read)
		}
		total += p.sent
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) > 0 {
		l.w.t.Errorf("wrong:\n%s", strings.Join(l.wrong, "\n"))
	}
	l.w.t.Logf("%d records, each there once and in order", total)
}

// caughtUp waits until the reader has all that was acknowledged.
func (l *load) caughtUp() {
	l.w.t.Helper()
	l.w.until("read to the end", func(context.Context) bool {
		for _, p := range l.partitions {
			if p.read.Load() < p.acked.Load() {
				return l.failed()
			}
		}
		return true
	})
}
