package clusterload_test

import (
	"context"
	"encoding/binary"
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
	produceEvery = 10 * time.Millisecond
)

// loader is a client that writes and reads until its end.
type loader interface {
	name() string
	failed() bool        // something is wrong already
	gaps() time.Duration // the longest time that a partition was without an acknowledgement since the last call
	acknowledged()       // waits until all that was sent before is acknowledged, and more
	end() int64          // stops, waits until all is acknowledged and read, and gives how much that is
}

// load writes numbers 0, 1, 2, … to each partition of a topic and reads them back, until
// it is stopped. What is read must be each number once and in order.
type load struct {
	w          *world
	topic      string
	producer   *kgo.Client
	stop       context.CancelFunc
	running    sync.WaitGroup
	partitions []*partitionLoad
	reader     *reader

	mu    sync.Mutex
	wrong []string // guarded by mu
}

// partitionLoad is what was written to one partition.
type partitionLoad struct {
	id    int32
	sent  atomic.Int64
	acked atomic.Int64

	mu      sync.Mutex
	lastAck time.Time     // guarded by mu
	gap     time.Duration // guarded by mu; the longest between two acknowledgements
}

// startLoad writes to and reads from a topic of so many partitions.
func startLoad(w *world, topic string, partitions int) *load {
	w.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	l := &load{w: w, topic: topic, stop: stop}
	l.producer = w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.StopProducerOnDataLossDetected(), kgo.MaxBufferedRecords(bufferedMax), kgo.ProducerLinger(0))
	for p := range partitions {
		l.partitions = append(l.partitions, &partitionLoad{id: int32(p), lastAck: time.Now()})
	}
	l.running.Go(func() { l.produce(ctx) })
	l.reader = startReader(w, topic, partitions, l.fault)
	w.t.Cleanup(func() { // before the clients are closed, which would be asked without a pause
		l.stop()
		l.reader.cancel()
	})
	return l
}

func (l *load) name() string { return "kgo" }

// fault notes what is wrong.
func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) < wrongMax {
		l.wrong = append(l.wrong, l.w.now()+" kgo: "+fmt.Sprintf(format, args...))
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
			want := p.sent.Load()
			value := binary.BigEndian.AppendUint64(make([]byte, 0, recordBytes), uint64(want))
			r := &kgo.Record{Topic: l.topic, Partition: p.id, Value: value[:recordBytes]}
			p.sent.Add(1)
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

// acknowledged waits until each partition has taken a record that was sent from now on.
func (l *load) acknowledged() {
	l.w.t.Helper()
	wanted := make([]int64, len(l.partitions))
	for i, p := range l.partitions {
		wanted[i] = p.sent.Load() + 1
	}
	l.w.until("acknowledged", func(context.Context) bool {
		for i, p := range l.partitions {
			if p.acked.Load() < wanted[i] {
				return l.failed()
			}
		}
		return true
	})
}

func (l *load) failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.wrong) > 0
}

// end stops writing, waits for all acknowledgements and until all of it is read, and
// reads everything once more.
func (l *load) end() int64 {
	l.w.t.Helper()
	l.stop()
	l.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := l.producer.Flush(ctx); err != nil {
		l.fault("records without an answer: %v", err)
	}
	l.w.until("read to the end", func(context.Context) bool {
		for i, p := range l.partitions {
			if l.reader.read[i].Load() < p.acked.Load() {
				return l.failed()
			}
		}
		return true
	})
	l.reader.stop()
	total := int64(0)
	for i, p := range l.partitions {
		if sent, acked, read := p.sent.Load(), p.acked.Load(), l.reader.read[i].Load(); acked != sent || read != sent {
			l.fault("partition %d: %d sent, %d acknowledged, %d read", p.id, sent, acked, read)
		}
		total += p.sent.Load()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) > 0 {
		l.w.t.Errorf("wrong:\n%s", strings.Join(l.wrong, "\n"))
		return total
	}
	l.w.readAgain(l.topic, len(l.partitions), total)
	l.w.t.Logf("%s: %d records, each there once and in order", l.name(), total)
	return total
}
