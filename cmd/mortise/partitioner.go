package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/partitioner/kgopartitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Bounds of a partitioner in a process of its own.
const (
	partitionerStop  = 5 * time.Second
	partitionerReply = time.Second // a person waits, and nobody else
)

// partitionerFlags say who chooses partitions: the same plugins as in a broker.
type partitionerFlags struct{ name, config string }

func (f *partitionerFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.name, "partitioner", "", "who chooses partitions: a built-in such as crc32, or the path of a plugin's program; without it Kafka's default, murmur2")
	c.Flags().StringVar(&f.config, "partitioner-config", "", "the partitioner's config: JSON, or the path of a file with JSON")
	var names []string
	for _, p := range builtins() {
		if p.Kind == plugin.Partitioner {
			names = append(names, p.Name)
		}
	}
	complete(c, "partitioner", names...)
}

// start makes the partitioner, and what ends it.
func (f *partitionerFlags) start(ctx context.Context, a *app) (kgo.Opt, func(), error) {
	config := plugin.Config{BrokerID: -1, Instance: "produce"}
	if f.config != "" {
		text, err := jsonOrFile(f.config)
		if err != nil {
			return nil, nil, output.Usagef("--partitioner-config: %w", err)
		}
		config.JSON = text
	}
	target, err := f.target(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	stop := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partitionerStop)
		defer cancel()
		if err := target.Stop(ctx); err != nil {
			fmt.Fprintln(a.err, "the partitioner did not stop well:", err)
		}
	}
	option, err := f.option(ctx, target, config)
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("partitioner %s: %w", f.name, err)
	}
	return option, stop, nil
}

// target is the built-in, or a process of the program.
func (f *partitionerFlags) target(ctx context.Context, a *app) (host.Target, error) {
	if p, err := plugin.Find(builtins(), plugin.Partitioner, f.name); err == nil {
		return host.Direct(p)
	}
	if !strings.ContainsRune(f.name, '/') {
		return nil, output.Usagef("--partitioner %q is no built-in; `mortise plugin list --builtin` lists them, and a program is named by its path, ./%s", f.name, f.name)
	}
	path, err := absolutePath(f.name)
	if err != nil {
		return nil, err
	}
	p, err := host.Launch(ctx, host.Command{Path: path, Stderr: func(line []byte) { fmt.Fprintf(a.err, "%s: %q\n", f.name, line) }})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// option makes an instance of the target's one partitioner and gives it to the client.
func (f *partitionerFlags) option(ctx context.Context, target host.Target, config plugin.Config) (kgo.Opt, error) {
	all, err := target.Describe(ctx)
	if err != nil {
		return nil, err
	}
	var found []plugin.Description
	for _, d := range all {
		if d.Kind == plugin.Partitioner {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("the program has %d partitioners, want one", len(found))
	}
	instance, err := target.Configure(ctx, plugin.Partitioner, found[0].Name, config)
	if err != nil {
		return nil, err
	}
	p, err := instance.Partitioner()
	if err != nil {
		return nil, err
	}
	return kgo.RecordPartitioner(kgopartitioner.New(p, kgopartitioner.Options{
		Deterministic: found[0].Has(partitioner.FeatureDeterministic), Timeout: partitionerReply,
	})), nil
}
