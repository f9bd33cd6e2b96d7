package sdktest

import (
	"bytes"
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// question is one call of a partitioner.
type question struct {
	ctx context.Context
	r   *partitioner.Request
	out []int32
}

// aPartitioner is a good one until something is planted in it.
type aPartitioner struct {
	p      plugin.Plugin
	assign func(q question)                           // in place of the good one
	fails  func(q question) error                     // asked before
	start  func(ctx context.Context, c plugin.Config) // of an instance
	close  func() error
}

func goodPartitioner() *aPartitioner {
	return &aPartitioner{p: plugin.Plugin{
		Name: "good", Version: "1.0.0", Summary: "None.", Validate: plugin.NoConfig, Features: []string{partitioner.FeatureDeterministic},
	}}
}

// good answers as it should.
func good(q question) {
	for i, key := range q.r.Keys {
		q.out[i] = partitioner.Any
		if key != nil {
			q.out[i] = hashed(key, q.r.Partitions)
		}
	}
}

func hashed(key []byte, partitions int32) int32 {
	h := fnv.New64a()
	h.Write(key)
	return int32((h.Sum64() >> 7) % uint64(partitions))
}

func (a *aPartitioner) plugin() plugin.Plugin {
	return partitioner.Plugin(a.p, func(ctx context.Context, c plugin.Config) (partitioner.Partitioner, error) {
		if err := c.Decode(&struct{}{}); err != nil {
			return nil, err
		}
		if a.start != nil {
			a.start(ctx, c)
		}
		return a, nil
	})
}

// Assign implements partitioner.Partitioner.
func (a *aPartitioner) Assign(ctx context.Context, r *partitioner.Request, out []int32) error {
	q := question{ctx, r, out}
	if a.fails != nil {
		if err := a.fails(q); err != nil {
			return err
		}
	}
	if a.assign != nil {
		a.assign(q)
		return nil
	}
	good(q)
	return nil
}

// Close implements io.Closer.
func (a *aPartitioner) Close() error {
	if a.close != nil {
		return a.close()
	}
	return nil
}

// partitioning plants something that comes after the good answers.
func planting(change func(q question)) plugin.Plugin {
	a := goodPartitioner()
	a.assign = func(q question) {
		good(q)
		change(q)
	}
	return a.plugin()
}

func partitionerFaults() []fault {
	seed := rand.Uint32
	each := func(change func(q question, i int)) plugin.Plugin {
		return planting(func(q question) {
			for i, key := range q.r.Keys {
				if key != nil {
					change(q, i)
				}
			}
		})
	}
	var calls atomic.Int32
	return []fault{
		{name: "one-too-many", finds: "partitioner/range", says: "partition 1 of 1", plugin: each(func(q question, i int) { q.out[i]++ })},
		{name: "negative", finds: "partitioner/range", says: "partition -7", plugin: each(func(q question, i int) { q.out[i] = -7 })},
		{name: "any-for-a-key", finds: "partitioner/range", says: "goes anywhere", plugin: each(func(q question, i int) { q.out[i] = partitioner.Any })},
		{name: "out-of-range-over-grpc", way: WayInProcess, finds: "partitioner/range", says: "bad answer", plugin: each(func(q question, i int) { q.out[i] = q.r.Partitions })},
		{name: "last-key-unanswered", finds: "partitioner/range", says: "not answered", plugin: onlyFirst()},
		{name: "last-key-unanswered-over-grpc", way: WayInProcess, finds: "partitioner/batches", says: "goes to", plugin: onlyFirst()},
		{name: "answers-backwards", finds: "partitioner/batches", says: "goes to", plugin: planting(func(q question) { slices.Reverse(q.out) })},
		{name: "by-place-in-batch", finds: "partitioner/batches", plugin: each(func(q question, i int) { q.out[i] = (q.out[i] + int32(i)) % q.r.Partitions })},
		{name: "by-call", finds: "partitioner/repeat", says: "goes to", plugin: planting(func(q question) {
			q.out[0] = (q.out[0] + calls.Add(1)) % q.r.Partitions
		})},
		{name: "by-client", finds: "partitioner/repeat", says: "another client", plugin: each(func(q question, i int) {
			q.out[i] = (q.out[i] + int32(len(q.r.ClientID))) % q.r.Partitions
		})},
		{name: "by-available", finds: "partitioner/repeat", says: "fewer available", plugin: each(func(q question, i int) {
			if len(q.r.Available) > 0 {
				q.out[i] = q.r.Available[0]
			}
		})},
		{name: "by-start", finds: "partitioner/restart", says: "after another start", plugin: byStart(seed)},
		{name: "two-partitions-only", finds: "partitioner/spread", says: "fall on 12", plugin: each(func(q question, i int) { q.out[i] %= 2 })},
		{name: "keeps-keys", finds: "partitioner/keeps-nothing", says: "earlier question", plugin: keepsKeys()},
		{name: "keeps-answers", finds: "partitioner/keeps-nothing", says: "earlier answer", plugin: keepsAnswers()},
		{name: "sorts-the-keys", finds: answersCase, says: "changed the question", plugin: planting(func(q question) {
			slices.SortFunc(q.r.Keys, bytes.Compare)
		})},
	}
}

// onlyFirst leaves the last answer as it was.
func onlyFirst() plugin.Plugin {
	a := goodPartitioner()
	a.assign = func(q question) {
		for i := range max(len(q.out)-1, 0) {
			q.out[i] = hashed(q.r.Keys[i], q.r.Partitions)
		}
	}
	return a.plugin()
}

// byStart adds a number that every instance has another of.
func byStart(draw func() uint32) plugin.Plugin {
	p := goodPartitioner().plugin()
	p.New = plugin.Typed(func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
		own := draw()
		return partitioner.Func(func(_ string, key []byte, n int32) int32 {
			if key == nil {
				return partitioner.Any
			}
			h := fnv.New32a()
			h.Write([]byte{byte(own), byte(own >> 8), byte(own >> 16)})
			h.Write(key)
			return int32(h.Sum32() % uint32(n))
		}), nil
	})
	return p
}

// keepsKeys gives each new key the next partition, and keeps the keys it was given.
func keepsKeys() plugin.Plugin {
	var mu sync.Mutex
	var seen [][]byte
	a := goodPartitioner()
	a.assign = func(q question) {
		mu.Lock()
		defer mu.Unlock()
		for i, key := range q.r.Keys {
			at := slices.IndexFunc(seen, func(k []byte) bool { return bytes.Equal(k, key) })
			if at < 0 {
				seen, at = append(seen, key), len(seen)
			}
			q.out[i] = int32(at) % q.r.Partitions
		}
	}
	return a.plugin()
}

// keepsAnswers writes to what it was given before.
func keepsAnswers() plugin.Plugin {
	var mu sync.Mutex
	var before []int32
	return planting(func(q question) {
		mu.Lock()
		defer mu.Unlock()
		for i := range before {
			before[i] = 0
		}
		before = q.out
	})
}

// soon says whether a call has next to no time.
func soon(ctx context.Context) bool {
	at, ok := ctx.Deadline()
	return ok && time.Until(at) < 100*time.Millisecond
}
