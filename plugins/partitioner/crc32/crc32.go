package crc32

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// librdkafka's names for what happens to records without a key.
const (
	consistentRandom = "consistent_random"
	consistent       = "consistent"
)

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "partitioner": {
      "description": "as librdkafka names it: with consistent_random null and empty keys go anywhere, with consistent to partition 0",
      "enum": ["consistent_random", "consistent"],
      "default": "consistent_random"
    }
  }
}`

type config struct {
	Partitioner string `json:"partitioner"`
}

// Plugin is the partitioner crc32.
func Plugin() plugin.Plugin {
	return partitioner.Plugin(plugin.Plugin{
		Name:     "crc32",
		Version:  "1.0.0",
		Summary:  "librdkafka's default: CRC-32 of the key",
		Features: []string{partitioner.FeatureDeterministic},
		Schema:   []byte(schema),
		Validate: func(raw json.RawMessage) error { _, err := parse(raw); return err },
	}, func(_ context.Context, c plugin.Config) (partitioner.Partitioner, error) {
		return parse(c.JSON)
	})
}

func parse(raw json.RawMessage) (partitioner.Func, error) {
	c := config{Partitioner: consistentRandom}
	if err := plugin.Decode(raw, &c); err != nil {
		return nil, err
	}
	switch c.Partitioner {
	case consistentRandom:
		return assignKeyed, nil
	case consistent:
		return assign, nil
	}
	return nil, fmt.Errorf("partitioner %q is neither %s nor %s", c.Partitioner, consistentRandom, consistent)
}

// assignKeyed takes an empty key for none, as consistent_random does.
func assignKeyed(topic string, key []byte, partitions int32) int32 {
	if len(key) == 0 {
		return partitioner.Any
	}
	return assign(topic, key, partitions)
}

// assign gives every key a partition.
//
// Hot: per key. 0 allocs.
func assign(_ string, key []byte, partitions int32) int32 {
	return int32(crc32.ChecksumIEEE(key) % uint32(partitions))
}
