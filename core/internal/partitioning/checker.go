package partitioning

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/sdk/partitioner"
)

// DefaultPartitioner is the partitioner of topics that name none: Kafka's.
const DefaultPartitioner = "murmur2"

// Bounds of a check.
const (
	topicsMax   = 256             // with metrics of their own
	reportedMax = 100             // records that a refusal names
	patience    = 2 * time.Second // for one batch; partitioners have less for each question
)

// Options are the parts of a Checker.
type Options struct {
	// Partitioner finds one by its name in the catalogue; false: there is none.
	Partitioner func(name string) (partitioner.Partitioner, bool)
	Log         *slog.Logger      // nil: nothing is logged
	Metrics     *metrics.Registry // nil: a private one
}

// Checker checks batches. It is safe for concurrent use.
type Checker struct {
	o     Options
	works sync.Pool // *work

	mu     sync.RWMutex
	topics map[string]*counters // guarded by mu
}

// New makes a Checker.
func New(o Options) *Checker {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	c := &Checker{o: o, topics: map[string]*counters{}}
	c.works.New = func() any { return new(work) }
	return c
}

// Batch is what is checked.
type Batch struct {
	Topic      string
	ID         kafka.TopicID
	Partition  int32
	Partitions int32 // that the topic has
	Epoch      uint64
	Records    record.Batch
	Config     *config.Topic
}

// Refusal is why a batch is refused: misplaced records, or a partitioner without an
// answer, after which the client shall try again.
type Refusal struct {
	Code    kafka.ErrorCode
	Message string
	Records []record.RecordError
}

// Check looks at a batch; nil: it may pass.
func (c *Checker) Check(b *Batch) *Refusal {
	if b.Config.PartitionerCheck == config.PartitionerOff {
		return nil
	}
	w := c.works.Get().(*work)
	defer c.works.Put(w)
	m, reject := c.counters(b.Topic), b.Config.PartitionerCheck == config.PartitionerReject
	err := w.run(c.find(b.Config.Partitioner), b, reject)
	m.placed.Add(w.placed)
	m.misplaced.Add(w.misplaced)
	switch {
	case err != nil:
		m.unchecked.Add(1)
		c.o.Log.Debug("partitioner gave no answer", "topic", b.Topic, "error", err)
		if !reject {
			return nil
		}
		return &Refusal{Code: kafka.ErrNotEnoughReplicas, Message: "The partitioner of the topic gave no answer about the keys of this batch."}
	case reject && w.misplaced > 0:
		name := b.Config.Partitioner
		if name == "" {
			name = DefaultPartitioner
		}
		return &Refusal{Code: kafka.ErrInvalidRecord, Records: w.refused,
			Message: fmt.Sprintf("%d of the records have keys that the partitioner %s puts on other partitions of %s.", w.misplaced, name, b.Topic)}
	}
	return nil
}

// find finds the topic's partitioner; nil: it is not in service.
func (c *Checker) find(name string) partitioner.Partitioner {
	if name == "" {
		name = DefaultPartitioner
	}
	p, ok := c.o.Partitioner(name)
	if !ok {
		return nil
	}
	return p
}

// counters are a topic's numbers.
type counters struct{ placed, misplaced, unchecked *metrics.Counter }

// others are the topics beyond topicsMax together. A topic can't be called so.
const others = "(others)"

// counters finds a topic's numbers.
func (c *Checker) counters(topic string) *counters {
	c.mu.RLock()
	m := c.topics[topic]
	c.mu.RUnlock()
	if m != nil {
		return m
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.topics) >= topicsMax {
		topic = others
	}
	if c.topics[topic] == nil {
		const help = "Records with keys on topics with mortise.partitioner.check: on the partition that the topic's partitioner chooses, or on another."
		of := func(result string) *metrics.Counter {
			return c.o.Metrics.Counter("mortise_partitioning_records_total", help, "topic", topic, "result", result)
		}
		c.topics[topic] = &counters{placed: of("placed"), misplaced: of("misplaced"),
			unchecked: c.o.Metrics.Counter("mortise_partitioning_unchecked_batches_total", "Batches on topics with mortise.partitioner.check that the partitioner gave no answer about.", "topic", topic)}
	}
	return c.topics[topic]
}

// withPatience bounds the questions about one batch.
func withPatience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}
