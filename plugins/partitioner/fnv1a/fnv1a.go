package fnv1a

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "modulo": {
      "description": "how the hash becomes a partition: signed (sarama's default), masked (sarama's reference) or unsigned",
      "enum": ["signed", "masked", "unsigned"],
      "default": "signed"
    }
  }
}`

type config struct {
	Modulo string `json:"modulo"`
}

// Plugin is the partitioner fnv1a.
func Plugin() plugin.Plugin {
	return partitioner.Plugin(plugin.Plugin{
		Name:     "fnv1a",
		Version:  "1.0.0",
		Summary:  "sarama's default: FNV-1a of the key",
		Features: []string{partitioner.FeatureDeterministic},
		Schema:   []byte(schema),
		Validate: func(raw json.RawMessage) error { _, err := parse(raw); return err },
	}, func(_ context.Context, c plugin.Config) (partitioner.Partitioner, error) {
		return parse(c.JSON)
	})
}

func parse(raw json.RawMessage) (partitioner.Func, error) {
	c := config{Modulo: "signed"}
	if err := plugin.Decode(raw, &c); err != nil {
		return nil, err
	}
	modulo := map[string]func(uint32, int32) int32{"signed": signed, "masked": masked, "unsigned": unsigned}[c.Modulo]
	if modulo == nil {
		return nil, fmt.Errorf("modulo %q is none of signed, masked and unsigned", c.Modulo)
	}
	return func(_ string, key []byte, partitions int32) int32 {
		if key == nil {
			return partitioner.Any
		}
		return modulo(hash(key), partitions)
	}, nil
}

func signed(h uint32, partitions int32) int32 {
	p := int32(h) % partitions
	if p < 0 {
		return -p
	}
	return p
}

func masked(h uint32, partitions int32) int32 { return int32(h&0x7fffffff) % partitions }

func unsigned(h uint32, partitions int32) int32 { return int32(h % uint32(partitions)) }

// hash is FNV-1a. The standard library's takes an allocation.
//
// Hot: per key. 0 allocs.
func hash(key []byte) uint32 {
	const (
		offset = 2166136261
		prime  = 16777619
	)
	h := uint32(offset)
	for _, b := range key {
		h = (h ^ uint32(b)) * prime
	}
	return h
}
