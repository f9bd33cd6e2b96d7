package main

import (
	"bytes"
	"context"
	"hash/crc32"

	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

type config struct {
	Separator string `json:"separator"`
}

func main() { sdk.Serve(Plugin()) }

// Plugin is what this program serves.
func Plugin() plugin.Plugin {
	return partitioner.Plugin(plugin.Plugin{
		Name: "prefix", Version: "1.0.0", Summary: "Keys with the same prefix share a partition.",
		Features: []string{partitioner.FeatureDeterministic},
	}, newPrefix)
}

func newPrefix(_ context.Context, c plugin.Config) (partitioner.Partitioner, error) {
	settings := config{Separator: "/"}
	if err := c.Decode(&settings); err != nil {
		return nil, err
	}
	separator := []byte(settings.Separator)
	return partitioner.Func(func(_ string, key []byte, partitions int32) int32 {
		if key == nil {
			return partitioner.Any
		}
		prefix, _, _ := bytes.Cut(key, separator)
		return int32(crc32.ChecksumIEEE(prefix) % uint32(partitions))
	}), nil
}
