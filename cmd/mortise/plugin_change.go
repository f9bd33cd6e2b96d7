package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// changeFlags are those of every change.
type changeFlags struct{ override, dryRun bool }

func (f *changeFlags) add(c *cobra.Command, dryRun bool) {
	c.Flags().BoolVar(&f.override, "override", false, "put an entry of the cluster, for every broker, over one of this broker's settings file")
	if dryRun {
		c.Flags().BoolVar(&f.dryRun, "dry-run", false, "let the broker check everything and change nothing")
	}
}

func pluginInstallCommand(a *app) *cobra.Command {
	var (
		e entryFlags
		f changeFlags
	)
	c := &cobra.Command{
		Use:   "install [NAME] [PATH]",
		Short: "Put a plugin into the catalogue of the cluster, so that every broker runs it",
		Long: `Put a plugin into the catalogue of the cluster under NAME: a program at PATH, which
has to be at the same path on every broker, or with --builtin one that is compiled in.
Its digest goes along, so that no other program runs in its place; the broker tries it
before anything is changed, and answers when it serves or says why it does not. Then the
other brokers are asked how they are with it.

Without NAME, or --kind, the program is started here and asked what it has. A plugin
runs as the broker's user unless --run-as says otherwise.`,
		Example: `  mortise plugin install ./prefixpartitioner
  mortise plugin install users --builtin file-users --config users.json
  mortise plugin install prefixes ./prefixpartitioner --kind partitioner --plugin prefix --config prefixes.json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: fileAfter(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && e.builtin == "" && strings.ContainsRune(args[0], '/') {
				args = []string{"", args[0]}
			}
			name, d, fields, err := e.ask(a, c, args, nil)
			if err != nil {
				return err
			}
			return f.run(a, c.Context(), d, name, "install", fields)
		},
	}
	e.add(c)
	f.add(c, true)
	c.Flags().StringVar(&e.kind, "kind", "", "what kind of plugin it is; without it the program is asked")
	c.Flags().StringVar(&e.builtin, "builtin", "", "a plugin that is compiled in, in place of PATH")
	c.Flags().BoolVar(&e.disabled, "disabled", false, "only put it into the catalogue; enable starts it")
	complete(c, "kind", kindNames()...)
	return c
}

func pluginUpgradeCommand(a *app) *cobra.Command {
	var (
		e entryFlags
		f changeFlags
	)
	c := &cobra.Command{
		Use:   "upgrade NAME [PATH]",
		Short: "Change a plugin to another program, config or limit, without a lost request",
		Long: `Change a plugin to the program at PATH, or the flags' config and limits; what is not
given stays. Without PATH the digest is that of the program as it is now.

The next version serves before the one before stops. For 30 s, while the next one is
baking, that stands by, and comes back by itself if the next one does worse; rollback
goes back later too.`,
		Example: `  mortise plugin upgrade users --config users.json
  mortise plugin upgrade prefixes ./prefixpartitioner --dry-run`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completePlugins(1),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := a.pluginDesk(c.Context())
			if err != nil {
				return err
			}
			now, err := d.find(args[0])
			if err != nil {
				return err
			}
			_, _, fields, err := e.ask(a, c, args, &pluginBefore{d, now})
			if err != nil {
				return err
			}
			return f.run(a, c.Context(), d, args[0], "upgrade", fields)
		},
	}
	e.add(c)
	f.add(c, true)
	c.Flags().BoolVar(&e.allowRemap, "allow-remap", false, "let the next version of a deterministic partitioner send keys elsewhere")
	return c
}

// fileAfter offers files after so many arguments, and nothing for those.
func fileAfter(n int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) < n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// kindNames are the kinds of plugins.
func kindNames() (names []string) {
	for _, k := range plugin.Kinds() {
		names = append(names, string(k))
	}
	return names
}

// pluginActionCommands are the changes that need nothing but a name.
func pluginActionCommands(a *app) (all []*cobra.Command) {
	for _, action := range []struct{ name, short, long, example string }{
		{"enable", "Start a plugin that is disabled", "", "mortise plugin enable prefixes"},
		{"disable", "Stop a plugin and keep its entry", "", "mortise plugin disable prefixes"},
		{"rollback", "Go back to what served before the last upgrade", `Go back to what served before the last upgrade. A version that stands by serves at
once; the entry that it has becomes that of the cluster, so that every broker goes back.`, "mortise plugin rollback prefixes"},
		{"restart", "Replace a plugin on one broker by a new start of itself, or try again what has failed", "", "mortise plugin restart prefixes"},
		{"remove", "Stop a plugin and take its entry out of the catalogue of the cluster", `Stop a plugin and take its entry out of the catalogue of the cluster. An entry of the
settings file or a built-in of the same name, over which it stood, counts again.`, "mortise plugin remove prefixes"},
	} {
		var f changeFlags
		c := &cobra.Command{
			Use: action.name + " NAME", Short: action.short, Long: action.long, Example: "  " + action.example,
			Args: cobra.ExactArgs(1), ValidArgsFunction: a.completePlugins(1),
			RunE: func(c *cobra.Command, args []string) error {
				d, err := a.pluginDesk(c.Context())
				if err != nil {
					return err
				}
				if _, err := d.find(args[0]); err != nil {
					return err
				}
				return f.run(a, c.Context(), d, args[0], broker.PluginAction(action.name), nil)
			},
		}
		if action.name != "restart" && action.name != "remove" {
			f.add(c, false)
		}
		all = append(all, c)
	}
	return all
}

// run asks for a change with the guard of what the broker has shown, and prints what
// came of it. A plugin that does not serve as wanted is an error.
func (f *changeFlags) run(a *app, ctx context.Context, d *pluginDesk, name string, action broker.PluginAction, fields map[string]any) error {
	ask := broker.PluginAsk{Changed: new(uint64), Override: f.override, DryRun: f.dryRun}
	if now, err := d.find(name); err == nil {
		*ask.Changed = now.Changed
	}
	if fields != nil {
		text, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		ask.Entry = text
	}
	outcome, err := d.change(ctx, name, action, ask)
	if err != nil {
		return fmt.Errorf("%s %s: %w", action, name, err)
	}
	view := changeView{PluginOutcome: outcome}
	if !f.dryRun && action != "restart" {
		view.Others = a.rollOut(ctx, d, name, outcome.Plugin)
	}
	err = a.printer().Value(view, func(w writer) error {
		_, err := fmt.Fprintln(w, outcomeLine(name, &outcome))
		return errors.Join(err, printOthers(w, view.Others))
	})
	return errors.Join(err, view.problem(name, d.list.Broker))
}

// outcomeLine says in one line what a change came to.
func outcomeLine(name string, o *broker.PluginOutcome) string {
	p := o.Plugin
	switch {
	case o.DryRun && o.Found != nil:
		return fmt.Sprintf("%s would run: %s %s %s takes its config", name, o.Found.Kind, o.Found.Name, o.Found.Version)
	case o.DryRun:
		return name + " would be changed"
	case p == nil:
		return name + " is removed"
	case p.Serves():
		line := fmt.Sprintf("%s is %s: %s %s %s, generation %d", name, p.State, p.Kind, p.Plugin, p.Version, p.Generation)
		if p.State == pluginhost.Baking {
			line += "; what served before stands by, and comes back if this does worse"
		}
		return line
	}
	return strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", name, p.State, p.Reason), ": ")
}
