package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/config"
)

func configSetCommand(a *app) *cobra.Command {
	var f configChangeFlags
	c := &cobra.Command{
		Use:   "set topic|broker|cluster|group [NAME] KEY=VALUE…",
		Short: "Set configs of a topic, a broker, all brokers or a group, in the running cluster",
		Long: `Set configs of a topic, a broker, all brokers (cluster) or a group, in the running
cluster. All of them are checked first, by the cluster; then the old and the new values
are printed, and whether a value counts at once or after a restart. Settings of a
broker's file are not changed: they are below what is set here.`,
		Example: `  mortise config set topic orders retention.ms=86400000 cleanup.policy=delete
  mortise config set broker 1 log.cleaner.threads=2 --dry-run
  mortise config set cluster log.retention.ms=604800000
  mortise config set group billing consumer.session.timeout.ms=50000`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.completeConfig("="),
		RunE: func(c *cobra.Command, args []string) error {
			r, pairs, err := configTarget(args)
			if err != nil {
				return err
			}
			values, err := keyValues(pairs)
			if err != nil {
				return err
			}
			var changes []configChange
			for key, value := range values {
				changes = append(changes, configChange{key: key, value: value})
			}
			return a.changeConfig(c.Context(), r, changes, f.dryRun)
		},
	}
	f.add(a, c)
	return c
}

func configUnsetCommand(a *app) *cobra.Command {
	var f configChangeFlags
	c := &cobra.Command{
		Use:   "unset topic|broker|cluster|group [NAME] KEY…",
		Short: "Take configs back to what counts without them",
		Example: `  mortise config unset topic orders retention.ms
  mortise config unset cluster log.retention.ms --dry-run`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.completeConfig(""),
		RunE: func(c *cobra.Command, args []string) error {
			r, names, err := configTarget(args)
			if err != nil {
				return err
			}
			var changes []configChange
			for _, key := range names {
				changes = append(changes, configChange{key: key})
			}
			return a.changeConfig(c.Context(), r, changes, f.dryRun)
		},
	}
	f.add(a, c)
	return c
}

// configChangeFlags are the flags of set and unset.
type configChangeFlags struct{ dryRun bool }

func (f *configChangeFlags) add(a *app, c *cobra.Command) {
	a.addBrokers(c)
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "check and show, and change nothing")
}

// configResource is what configs belong to.
type configResource struct {
	kind string // topic, broker, cluster or group
	name string // empty: all brokers
	code kmsg.ConfigResourceType
}

// String names the resource for people.
func (r configResource) String() string {
	if r.name == "" {
		return "all brokers"
	}
	return r.kind + " " + r.name
}

// configKinds are the words for resources.
func configKinds() []string { return []string{"topic", "broker", "cluster", "group"} }

// configTarget takes the resource off the arguments of set and unset.
func configTarget(args []string) (r configResource, rest []string, err error) {
	r.kind = args[0]
	switch r.kind {
	case "cluster":
		r.code = kmsg.ConfigResourceTypeBroker
		return r, args[1:], nil
	case "topic":
		r.code = kmsg.ConfigResourceTypeTopic
	case "broker":
		r.code = kmsg.ConfigResourceTypeBroker
	case "group":
		r.code = kmsg.ConfigResourceTypeGroupConfig
	default:
		return r, nil, output.Usagef("configs of %q? write one of topic, broker, cluster, group", r.kind)
	}
	if len(args) < 3 {
		return r, nil, output.Usagef("write %s NAME and then the keys", r.kind)
	}
	r.name = args[1]
	return r, args[2:], nil
}

// completeConfig offers the words for resources, names of topics, and keys, with what
// follows a key.
func (a *app) completeConfig(after string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, so string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if len(args) == 0 {
			return configKinds(), none
		}
		named := args[0] != "cluster"
		if named && len(args) == 1 {
			if args[0] != "topic" {
				return nil, none
			}
			return a.completeTopics(1, false)(c, nil, so)
		}
		var offered []cobra.Completion
		for _, key := range configKeys(args[0]) {
			offered = append(offered, key+after)
		}
		if after == "" {
			return offered, none
		}
		return offered, none | cobra.ShellCompDirectiveNoSpace
	}
}

// configKeys are the keys that can be set on a kind of resource.
func configKeys(kind string) []string {
	var keys []config.Key
	switch kind {
	case "topic":
		keys = config.TopicKeys()
	case "broker", "cluster":
		keys = slices.DeleteFunc(config.BrokerKeys(), func(k config.Key) bool { return k.ReadOnly })
	case "group":
		keys = config.GroupKeys()
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return names
}

// waitsForRestart tells whether a key that was set dynamically counts only after a
// restart, as the one table of keys has it.
func (r configResource) waitsForRestart(key string) bool {
	k, ok := config.LookupBroker(key)
	return ok && r.code == kmsg.ConfigResourceTypeBroker && k.AtStart
}

// changeConfig checks changes, shows them, and makes them unless that was not wanted.
func (a *app) changeConfig(ctx context.Context, r configResource, changes []configChange, dryRun bool) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	defer client.Close()
	slices.SortFunc(changes, compareChanges)
	s := configSession{client: client, resource: r, changes: changes}
	result, err := s.run(ctx, dryRun)
	if err != nil {
		return err
	}
	return result.print(a)
}
