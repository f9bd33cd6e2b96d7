package rangebyprefix

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/mortisemq/mortise/plugins/partitioner/murmur2"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Plugin is the partitioner range-by-prefix.
func Plugin() plugin.Plugin {
	return partitioner.Plugin(plugin.Plugin{
		Name:     "range-by-prefix",
		Version:  "1.0.0",
		Summary:  "partitions of their own for keys with a prefix or within bounds",
		Features: []string{partitioner.FeatureDeterministic},
		Schema:   []byte(schema),
		Validate: func(raw json.RawMessage) error { _, err := parse(raw); return err },
	}, func(_ context.Context, c plugin.Config) (partitioner.Partitioner, error) {
		return parse(c.JSON)
	})
}

// ranges implements partitioner.Partitioner.
type ranges struct {
	numbers   []numberRule // sorted, apart from each other
	prefixes  []prefixRule // sorted by prefix
	otherwise *span        // nil: all partitions
}

type numberRule struct {
	first, last int64
	to          span
}

type prefixRule struct {
	prefix  []byte
	shorter int // the longest other prefix of this one, -1: none
	to      span
}

// Assign implements partitioner.Partitioner.
//
// Hot: per batch of keys. 0 allocs; per key two binary searches and a hash.
func (r *ranges) Assign(_ context.Context, q *partitioner.Request, out []int32) error {
	for i, key := range q.Keys {
		if key == nil {
			out[i] = partitioner.Any
			continue
		}
		to := r.spanOf(key, q.Partitions)
		if to.last >= q.Partitions {
			return fmt.Errorf("a rule sends keys to partitions %v, topic %s has %d", to, q.Topic, q.Partitions)
		}
		out[i] = to.first + murmur2.Partition(key, to.last-to.first+1)
	}
	return nil
}

// spanOf is where a key may go.
func (r *ranges) spanOf(key []byte, partitions int32) span {
	if n, ok := number(key); ok {
		at, found := slices.BinarySearchFunc(r.numbers, n, func(x numberRule, n int64) int { return cmp.Compare(x.first, n) })
		if !found {
			at--
		}
		if at >= 0 && n <= r.numbers[at].last {
			return r.numbers[at].to
		}
	}
	at, found := slices.BinarySearchFunc(r.prefixes, key, func(x prefixRule, key []byte) int { return bytes.Compare(x.prefix, key) })
	if !found {
		at--
	}
	// Every prefix of the key is the greatest rule that is not greater than the key,
	// or one of its shorter ones.
	for ; at >= 0; at = r.prefixes[at].shorter {
		if bytes.HasPrefix(key, r.prefixes[at].prefix) {
			return r.prefixes[at].to
		}
	}
	if r.otherwise != nil {
		return *r.otherwise
	}
	return span{0, partitions - 1}
}

// number reads a decimal number of 64 bits; anything else is none.
func number(key []byte) (int64, bool) {
	digits, negative := bytes.CutPrefix(key, []byte("-"))
	if len(digits) == 0 {
		return 0, false
	}
	n := int64(0) // kept negative: the range is larger by one there
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		next := n*10 - int64(d-'0')
		if n < math.MinInt64/10 || next > n {
			return 0, false
		}
		n = next
	}
	if negative {
		return n, true
	}
	return -n, n != math.MinInt64
}
