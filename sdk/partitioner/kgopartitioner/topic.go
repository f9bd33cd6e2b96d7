package kgopartitioner

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/sdk/partitioner"
)

// refused is what kgo fails a record for.
const refused = -1

// topicPartitioner implements kgo.TopicPartitioner. kgo calls it for one record at a
// time.
type topicPartitioner struct {
	p      *Partitioner
	topic  string
	memory *memory
	sticky kgo.TopicPartitioner

	// kgo asks about a record again when it has begun a new batch for it: the plugin,
	// which may count, is not asked twice.
	again    bool // OnNewBatch was called after the plugin chose pick, of n
	fromHere bool // the plugin chose pick
	pick, n  int

	keys  [][]byte
	sizes []int32
	out   []int32
}

// RequiresConsistency implements kgo.TopicPartitioner.
func (t *topicPartitioner) RequiresConsistency(r *kgo.Record) bool { return r.Key != nil }

// OnNewBatch implements kgo.TopicPartitionerOnNewBatch.
func (t *topicPartitioner) OnNewBatch() {
	t.again = t.fromHere
	if s, ok := t.sticky.(kgo.TopicPartitionerOnNewBatch); ok {
		s.OnNewBatch()
	}
}

// Partition implements kgo.TopicPartitioner.
//
// Hot: per record. 0 allocs for a key that is remembered.
func (t *topicPartitioner) Partition(r *kgo.Record, n int) int {
	if t.again && n == t.n {
		t.again = false
		return t.pick
	}
	t.again, t.fromHere = false, false
	at, err := t.assign(r, int32(n))
	switch {
	case err != nil && r.Key != nil:
		explain(r, err)
		return refused
	case err != nil || at == partitioner.Any:
		return t.sticky.Partition(r, n)
	}
	t.fromHere, t.pick, t.n = true, int(at), n
	return t.pick
}

// assign is where the plugin wants a record.
func (t *topicPartitioner) assign(r *kgo.Record, n int32) (int32, error) {
	remember := t.p.opt.Deterministic && r.Key != nil
	if remember {
		if at, ok := t.memory.get(r.Key, n); ok {
			return at, nil
		}
	}
	t.keys[0], t.sizes[0] = r.Key, int32(len(r.Value))
	if r.Value == nil {
		t.sizes[0] = -1
	}
	ctx := r.Context
	if ctx == nil {
		ctx = context.Background()
	}
	q := partitioner.Request{Topic: t.topic, Partitions: n, Keys: t.keys, ValueSizes: t.sizes}
	if err := t.p.ask(ctx, &q, t.out); err != nil {
		return 0, err
	}
	if remember {
		t.memory.put(r.Key, n, t.out[0], t.p.opt.Remember)
	}
	return t.out[0], nil
}

// reason is the key of a record's context under which explain leaves an error.
type reason struct{}

func explain(r *kgo.Record, err error) {
	ctx := r.Context
	if ctx == nil {
		ctx = context.Background()
	}
	r.Context = context.WithValue(ctx, reason{}, err)
}

// Err says why a record got no partition; nil if it got one. It is for the promise of
// a record that failed.
func Err(r *kgo.Record) error {
	if r.Context == nil {
		return nil
	}
	err, _ := r.Context.Value(reason{}).(error)
	return err
}

var (
	_ kgo.TopicPartitioner           = (*topicPartitioner)(nil)
	_ kgo.TopicPartitionerOnNewBatch = (*topicPartitioner)(nil)
)
