package sticky

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/mortisemq/mortise/plugins/partitioner/internal/topics"
	"github.com/mortisemq/mortise/plugins/partitioner/murmur2"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "bytes": {
      "description": "how many bytes of keyless records go to one partition before the next",
      "type": "integer",
      "minimum": 1,
      "default": 16384
    }
  }
}`

type config struct {
	Bytes int64 `json:"bytes"`
}

// Plugin is the partitioner sticky.
func Plugin() plugin.Plugin {
	return partitioner.Plugin(plugin.Plugin{
		Name:     "sticky",
		Version:  "1.0.0",
		Summary:  "murmur2 for keys; records without one stay together for a batch",
		Features: []string{partitioner.FeatureDeterministic},
		Schema:   []byte(schema),
		Validate: func(raw json.RawMessage) error { _, err := parse(raw); return err },
	}, func(_ context.Context, c plugin.Config) (partitioner.Partitioner, error) {
		return parse(c.JSON)
	})
}

func parse(raw json.RawMessage) (*sticky, error) {
	c := config{Bytes: 16384}
	if err := plugin.Decode(raw, &c); err != nil {
		return nil, err
	}
	if c.Bytes < 1 {
		return nil, fmt.Errorf("bytes is %d, want at least 1", c.Bytes)
	}
	return &sticky{bytes: c.Bytes, draw: rand.IntN}, nil
}

// sticky implements partitioner.Partitioner.
type sticky struct {
	bytes  int64
	draw   func(n int) int // from 0 to n-1
	topics topics.Topics[place]
}

// place is the partition that a topic's keyless records go to.
type place struct {
	mu        sync.Mutex
	partition int32 // guarded by mu
	left      int64 // bytes that still go there, guarded by mu; 0: draw another
}

// Assign implements partitioner.Partitioner.
//
// Hot: per batch of keys. 0 allocs, one uncontended lock.
func (s *sticky) Assign(_ context.Context, r *partitioner.Request, out []int32) error {
	sized := len(r.ValueSizes) == len(r.Keys)
	at := s.topics.Of(r.Topic)
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.partition >= r.Partitions || len(r.Available) > 0 && !slices.Contains(r.Available, at.partition) {
		at.left = 0
	}
	for i, key := range r.Keys {
		if key != nil {
			out[i] = murmur2.Partition(key, r.Partitions)
			continue
		}
		if at.left <= 0 {
			at.partition, at.left = s.next(r, at.partition), s.bytes
		}
		out[i] = at.partition
		if sized {
			at.left -= recordBytes(r.ValueSizes[i])
		}
	}
	if !sized {
		at.left = 0
	}
	return nil
}

// next draws another partition than now, if there is one.
func (s *sticky) next(r *partitioner.Request, now int32) int32 {
	candidates := int(r.Partitions)
	if len(r.Available) > 0 {
		candidates = len(r.Available)
	}
	candidate := func(i int) int32 {
		if len(r.Available) > 0 {
			return r.Available[i]
		}
		return int32(i)
	}
	i := s.draw(candidates)
	if candidate(i) == now && candidates > 1 {
		i = (i + 1 + s.draw(candidates-1)) % candidates
	}
	return candidate(i)
}

// recordBytes is about what a record takes in a batch: what frames it counts too, so
// that empty records move on.
func recordBytes(value int32) int64 {
	const frame = 8
	return frame + int64(max(value, 0))
}
