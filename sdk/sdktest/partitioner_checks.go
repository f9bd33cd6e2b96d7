package sdktest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// unevenBound is χ² for 12 partitions (11 degrees of freedom): chance exceeds it once in
// 10^12 times.
const unevenBound = 85

func partitionerChecks() []check {
	all := []check{
		{name: "partitioner/range", says: "answers are from 0 to Partitions-1, or Any for a null or an empty key", run: checkRange},
		{name: "partitioner/repeat", says: "deterministic: a key's partition does not depend on time, clients, or who is available", run: checkRepeat},
		{name: "partitioner/batches", says: "deterministic: a key's partition depends on no other key of the question", run: checkBatches},
		{name: "partitioner/restart", says: "deterministic: a key's partition is the same after a restart", run: checkRestart},
		{name: "partitioner/keeps-nothing", says: "it keeps neither keys nor answers", run: checkKeepsNothing},
		{name: "partitioner/spread", says: "keys without a structure are spread evenly", run: checkSpread},
	}
	for i := range all {
		all[i].kind = plugin.Partitioner
	}
	return all
}

// partitioning runs a case with one instance.
func partitioning(ctx context.Context, b *bench, run func(t *partitionerTalk) error) error {
	t, err := b.talk(ctx)
	if err != nil {
		return err
	}
	if err := run(t.(*partitionerTalk)); err != nil {
		return err
	}
	return t.end()
}

// deterministic runs a case of plugins that say that they are.
func deterministic(ctx context.Context, b *bench, run func(t *partitionerTalk) error) error {
	return partitioning(ctx, b, func(t *partitionerTalk) error {
		if !t.deterministic() {
			return skipped("it does not say that it is " + partitioner.FeatureDeterministic)
		}
		return run(t)
	})
}

func checkRange(ctx context.Context, b *bench) error {
	return partitioning(ctx, b, func(t *partitionerTalk) error {
		for _, n := range []int32{1, 2, 3, 7, 12, 64, 100, 1000, 32_768} {
			keys := append(randomKeys(uint64(n), 500), nil, []byte{}, nil)
			if _, err := t.assign(ctx, &partitioner.Request{Topic: "orders", Partitions: n, Keys: keys}); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkRepeat(ctx context.Context, b *bench) error {
	return deterministic(ctx, b, func(t *partitionerTalk) error {
		keys := append(randomKeys(3, 300), []byte{0xff}, []byte("ü"))
		question := func() *partitioner.Request { return &partitioner.Request{Topic: "orders", Partitions: 12, Keys: keys} }
		want, err := t.assign(ctx, question())
		if err != nil {
			return err
		}
		for name, change := range map[string]func(*partitioner.Request){
			"once more":               func(*partitioner.Request) {},
			"with another client":     func(r *partitioner.Request) { r.ClientID = "other" },
			"with another epoch":      func(r *partitioner.Request) { r.MetadataEpoch = 77 },
			"with fewer available":    func(r *partitioner.Request) { r.Available = []int32{3} },
			"with sizes of values":    func(r *partitioner.Request) { r.ValueSizes = make([]int32, len(keys)) },
			"with the topic's number": func(r *partitioner.Request) { r.TopicID = [16]byte{7} },
		} {
			r := question()
			change(r)
			got, err := t.assign(ctx, r)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if i := differs(got, want); i >= 0 {
				return fmt.Errorf("key %q goes to %d, and %s to %d", keys[i], want[i], name, got[i])
			}
		}
		return nil
	})
}

// differs is the first index at which answers differ, -1 if there is none.
func differs(a, b []int32) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func checkBatches(ctx context.Context, b *bench) error {
	return deterministic(ctx, b, func(t *partitionerTalk) error {
		keys := randomKeys(4, 120)
		want, err := t.assign(ctx, &partitioner.Request{Topic: "orders", Partitions: 12, Keys: keys})
		if err != nil {
			return err
		}
		for _, size := range []int{1, 7, 119} {
			var got []int32
			for chunk := range slices.Chunk(keys, size) {
				out, err := t.assign(ctx, &partitioner.Request{Topic: "orders", Partitions: 12, Keys: chunk})
				if err != nil {
					return err
				}
				got = append(got, out...)
			}
			if i := differs(got, want); i >= 0 {
				return fmt.Errorf("key %q goes to %d among %d keys, and to %d among %d", keys[i], want[i], len(keys), got[i], size)
			}
		}
		backwards := slices.Clone(keys)
		slices.Reverse(backwards)
		got, err := t.assign(ctx, &partitioner.Request{Topic: "orders", Partitions: 12, Keys: backwards})
		if err != nil {
			return err
		}
		slices.Reverse(got)
		if i := differs(got, want); i >= 0 {
			return fmt.Errorf("key %q goes to %d, and to %d when the keys come in another order", keys[i], want[i], got[i])
		}
		return nil
	})
}

func checkRestart(ctx context.Context, b *bench) error {
	return deterministic(ctx, b, func(t *partitionerTalk) error {
		target, _, err := b.fresh(ctx)
		if err != nil {
			return err
		}
		defer b.stop(target)
		in, err := b.instance(ctx, target)
		if err != nil {
			return err
		}
		other, err := b.talkWith(ctx, in)
		if err != nil {
			return err
		}
		r := &partitioner.Request{Topic: "orders", Partitions: 12, Keys: randomKeys(5, 300)}
		want, err := t.assign(ctx, r)
		if err != nil {
			return err
		}
		got, err := other.(*partitionerTalk).assign(ctx, r)
		if err != nil {
			return err
		}
		if i := differs(got, want); i >= 0 {
			return fmt.Errorf("key %q goes to %d, and after another start to %d", r.Keys[i], want[i], got[i])
		}
		return other.end()
	})
}

// checkKeepsNothing uses the memory of a question again, as a broker does.
func checkKeepsNothing(ctx context.Context, b *bench) error {
	return partitioning(ctx, b, func(t *partitionerTalk) error {
		r := &partitioner.Request{Topic: "orders", Partitions: 12, Keys: randomKeys(6, 50)}
		used := copyOf(r)
		first, err := t.assign(ctx, used)
		if err != nil {
			return err
		}
		given := slices.Clone(first)
		for _, key := range used.Keys {
			clear(key)
		}
		again, err := t.assign(ctx, r)
		switch {
		case err != nil:
			return err
		case differs(first, given) >= 0:
			return errors.New("5: it wrote to an earlier answer")
		case t.deterministic() && differs(again, given) >= 0:
			return errors.New("5: its answers change with the memory of an earlier question")
		}
		return nil
	})
}

func checkSpread(ctx context.Context, b *bench) error {
	if b.subject.Facts.Uneven {
		return skipped("uneven on purpose, as the facts say")
	}
	return partitioning(ctx, b, func(t *partitionerTalk) error {
		const partitions, rounds, each = 12, 12, 1000
		var counts [partitions]float64
		for n := range rounds {
			out, err := t.assign(ctx, &partitioner.Request{Topic: "orders", Partitions: partitions, Keys: randomKeys(uint64(100+n), each)})
			if err != nil {
				return err
			}
			for _, p := range out {
				counts[p]++
			}
		}
		x2, expected := 0.0, float64(rounds*each/partitions)
		for _, n := range counts {
			x2 += (n - expected) * (n - expected) / expected
		}
		if x2 > unevenBound {
			return fmt.Errorf("%d keys fall on %d partitions as %.0f (χ² %.0f, at most %d); if that is wanted, say uneven in the facts", rounds*each, partitions, counts, x2, unevenBound)
		}
		return nil
	})
}
