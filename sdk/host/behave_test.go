package host

import (
	"context"
	"fmt"
	"os"

	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// behave is what a process of the tests does.
func behave(name string, args []string) {
	switch name {
	case "good":
		sdk.Serve(lengths())
	default:
		fmt.Fprintln(os.Stderr, "no behaviour", name)
		os.Exit(3)
	}
}

// lengths is a partitioner by the length of the key.
func lengths() plugin.Plugin {
	return partitioner.Plugin(plugin.Plugin{Name: "lengths", Version: "1.2.3", Features: []string{partitioner.FeatureDeterministic}},
		func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
			return partitioner.Func(func(_ string, key []byte, n int32) int32 { return int32(len(key)) % n }), nil
		})
}
