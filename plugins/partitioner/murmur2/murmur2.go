package murmur2

import (
	"context"
	"encoding/binary"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Plugin is the partitioner murmur2. It has no settings.
func Plugin() plugin.Plugin {
	return partitioner.Plugin(plugin.Plugin{
		Name:     "murmur2",
		Version:  "1.0.0",
		Summary:  "Kafka's default: murmur2 of the key",
		Features: []string{partitioner.FeatureDeterministic},
		Schema:   []byte(plugin.NoConfigSchema),
		Validate: plugin.NoConfig,
	}, func(_ context.Context, c plugin.Config) (partitioner.Partitioner, error) {
		return partitioner.Func(assign), plugin.NoConfig(c.JSON)
	})
}

func assign(_ string, key []byte, partitions int32) int32 {
	if key == nil {
		return partitioner.Any
	}
	return Partition(key, partitions)
}

// Partition is where Kafka's producer puts a key that is not null.
func Partition(key []byte, partitions int32) int32 {
	return int32(Hash(key)&0x7fffffff) % partitions
}

// Hash is murmur2 (32 bits, by Austin Appleby) with the seed that Kafka uses.
//
// Hot: per key. 0 allocs.
func Hash(key []byte) uint32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
	)
	h := seed ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		k := binary.LittleEndian.Uint32(key) * m
		h = h*m ^ (k^k>>24)*m
	}
	if len(key) > 0 {
		for i, b := range key {
			h ^= uint32(b) << (8 * i)
		}
		h *= m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
