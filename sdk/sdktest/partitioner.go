package sdktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/mortisemq/mortise/sdk/partitioner"
)

// unanswered is in out before a call: no partition.
const unanswered = math.MinInt32

// partitionerTalk talks with a partitioner.
type partitionerTalk struct {
	spoken
	p partitioner.Partitioner
}

func (t *partitionerTalk) deterministic() bool {
	return t.in.Description().Has(partitioner.FeatureDeterministic)
}

// assign asks, and checks what a broker checks.
func (t *partitionerTalk) assign(ctx context.Context, r *partitioner.Request) ([]int32, error) {
	out := make([]int32, len(r.Keys))
	for i := range out {
		out[i] = unanswered
	}
	asked := copyOf(r)
	if err := t.b.guarded(ctx, func() error { return t.p.Assign(ctx, r, out) }); err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(asked, r) {
		return nil, errors.New("it changed the question")
	}
	for i, n := range out {
		switch {
		case n == unanswered:
			return nil, fmt.Errorf("key %d of %d is not answered", i, len(out))
		case n == partitioner.Any && len(r.Keys[i]) == 0, n >= 0 && n < r.Partitions:
		case n == partitioner.Any:
			return nil, fmt.Errorf("key %d, %.32q, goes anywhere: only a null or an empty key may", i, r.Keys[i])
		default:
			return nil, fmt.Errorf("key %d, %.32q, goes to partition %d of %d", i, r.Keys[i], n, r.Partitions)
		}
	}
	return out, nil
}

func copyOf(r *partitioner.Request) *partitioner.Request {
	c := *r
	c.Keys = slices.Clone(r.Keys)
	for i, key := range c.Keys {
		c.Keys[i] = bytes.Clone(key)
	}
	c.ValueSizes, c.Available = slices.Clone(r.ValueSizes), slices.Clone(r.Available)
	return &c
}

// ordinary implements talk: 16 keys of a topic.
func (t *partitionerTalk) ordinary(ctx context.Context, n int) (string, error) {
	out, err := t.assign(ctx, &partitioner.Request{Topic: "orders", Partitions: 12, Keys: randomKeys(uint64(n), 16)})
	if err != nil || !t.deterministic() {
		return "", err
	}
	return fmt.Sprint(out), nil
}

func (t *partitionerTalk) empty(ctx context.Context) error {
	_, err := t.assign(ctx, &partitioner.Request{Topic: "orders", Partitions: 3})
	return err
}

func (t *partitionerTalk) largest(ctx context.Context) error {
	keys := randomKeys(1, partitioner.MaxKeys)
	sizes, available := make([]int32, len(keys)), make([]int32, 10_000)
	for i := range available {
		available[i] = int32(i)
	}
	for name, r := range map[string]*partitioner.Request{
		"as many keys as there may be": {Topic: "orders", Partitions: 10_000, Keys: keys, ValueSizes: sizes, Available: available},
		"a key of 1 MiB":               {Topic: "orders", Partitions: 12, Keys: [][]byte{bytes.Repeat([]byte{'k'}, partitioner.MaxKeyBytes)}},
		"keys that are all null":       {Topic: "orders", Partitions: 12, Keys: make([][]byte, partitioner.MaxKeys)},
	} {
		if _, err := t.assign(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// odd implements talk. A null key and an empty one come together, so that who takes one
// for the other's index shows.
func (t *partitionerTalk) odd(ctx context.Context) error {
	keys := [][]byte{nil, {}, {0}, {0xff}, []byte("a\xffb"), []byte("\xc3\x28"), {}, nil, []byte("日本"), make([]byte, 5000)}
	for _, partitions := range []int32{1, 2, 1 << 20} {
		for _, r := range []*partitioner.Request{
			{Topic: "", Partitions: partitions, Keys: keys},
			{Topic: "t\xff", Partitions: partitions, Keys: keys, ClientID: "c\xff", TopicID: [16]byte{1}, MetadataEpoch: math.MaxUint64},
			{Topic: "t", Partitions: partitions, Keys: keys, ValueSizes: slices.Repeat([]int32{-1}, len(keys)), Available: []int32{}},
			{Topic: "t", Partitions: partitions, Keys: keys, ValueSizes: slices.Repeat([]int32{math.MaxInt32}, len(keys)), Available: []int32{0}},
		} {
			if _, err := t.assign(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// randomKeys are keys without a structure, the same for the same seed.
func randomKeys(seed uint64, n int) [][]byte {
	r := rand.New(rand.NewPCG(seed, 1))
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = make([]byte, 4+r.IntN(28))
		for j := range keys[i] {
			keys[i][j] = "abcdefghijklmnopqrstuvwxyz0123456789"[r.IntN(36)]
		}
	}
	return keys
}
