package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/host"
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
before anything is changed, and answers when it serves or says why it does not.

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
	err = a.printer().Value(outcome, func(w writer) error {
		_, err := fmt.Fprintln(w, outcomeLine(name, &outcome))
		return err
	})
	if err == nil && outcome.Problem != "" {
		err = fmt.Errorf("%s: the entry is changed, but on broker %d the plugin does not serve as it says: %s", name, d.list.Broker, outcome.Problem)
	}
	return err
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

// pluginBefore is the entry that an upgrade begins with.
type pluginBefore struct {
	desk *pluginDesk
	now  *broker.PluginReport
}

// ask finds the broker and makes the fields of the entry and its name, and says what
// will run. before is nil for a new entry.
func (e *entryFlags) ask(a *app, c *cobra.Command, args []string, before *pluginBefore) (name string, d *pluginDesk, fields map[string]any, err error) {
	fail := func(err error) (string, *pluginDesk, map[string]any, error) { return "", nil, nil, err }
	if fields, err = e.fields(c); err != nil {
		return fail(err)
	}
	name, path := args[0], ""
	if len(args) > 1 {
		path = args[1]
	}
	if before != nil {
		d = before.desk
	} else if name, err = e.found(c, name, path, fields); err != nil {
		return fail(err)
	} else if d, err = a.pluginDesk(c.Context()); err != nil {
		return fail(err)
	}
	if before == nil && e.builtin != "" {
		b, ok := d.builtin(e.builtin)
		if !ok {
			return fail(fmt.Errorf("broker %d has no built-in %s; `mortise plugin list --builtin` shows them", d.list.Broker, e.builtin))
		}
		fields["kind"], fields["builtin"] = b.Kind, b.Name
	}
	if err := e.program(fields, path, d.list.Platform, before); err != nil {
		return fail(err)
	}
	if len(fields) == 0 {
		return fail(output.Usagef("nothing to change: give a PATH or a flag, or change the program first"))
	}
	if a.format != output.JSON {
		fmt.Fprintln(a.out, willRun(name, fields))
	}
	return name, d, fields, nil
}

// found looks at the flags of a new entry as a set, and asks the program for what they
// leave open: the name, the kind, which of its plugins.
func (e *entryFlags) found(c *cobra.Command, name, path string, fields map[string]any) (string, error) {
	switch {
	case path == "" && e.builtin == "":
		return "", output.Usagef("write the PATH of a program, with a slash in it, such as ./%s, or --builtin NAME", name)
	case path != "" && e.builtin != "":
		return "", output.Usagef("write the PATH of a program or --builtin NAME, not both")
	case e.kind != "" && !plugin.Kind(e.kind).Valid():
		return "", output.Usagef("--kind %q; write one of %s", e.kind, strings.Join(kindNames(), ", "))
	case path == "", name != "" && e.kind != "" && e.plugin != "":
		return name, nil
	}
	absolute, err := absolutePath(path)
	if err != nil {
		return "", err
	}
	all, err := describeProgram(c.Context(), host.Command{Path: absolute, Args: e.args})
	if err != nil {
		return "", fmt.Errorf("%w; where it can't run on this machine, NAME, --kind and --plugin say what it has", err)
	}
	which := e.plugin
	if which == "" && slices.ContainsFunc(all, func(d plugin.Description) bool { return d.Name == name }) {
		which = name
	}
	d, err := chosen(all, e.kind, which)
	if err != nil {
		return "", err
	}
	if name == "" {
		name = d.Name
	}
	fields["kind"] = d.Kind
	if d.Name != name {
		fields["plugin"] = d.Name
	}
	return name, nil
}

// program adds the program at path and its digest; without a path, on an upgrade, the
// digest of the entry's own program if that is another one now.
func (e *entryFlags) program(fields map[string]any, path, platform string, before *pluginBefore) error {
	var old *pluginhost.Spec
	if before != nil && before.now.Entry != nil {
		old = before.now.Entry
	}
	switch {
	case path != "":
		if old != nil && old.Builtin != "" {
			return fmt.Errorf("%s is the built-in %s and can't become a program; remove it and install the program", old.Name, old.Builtin)
		}
		absolute, err := absolutePath(path)
		if err != nil {
			return err
		}
		fields["path"] = absolute
		if _, given := fields["version"]; !given && old != nil && old.Version != "" {
			fields["version"] = nil // that of the program before
		}
		path = absolute
	case old != nil && old.Path != "" && len(old.SHA256) > 0:
		path = old.Path
	default:
		return nil
	}
	if len(e.sha256) > 0 {
		digests, err := givenDigests(e.sha256, platform)
		fields["sha256"] = digests
		return err
	}
	sum, err := fileDigest(path)
	if err != nil {
		return fmt.Errorf("digest of the program: %w; where it is not on this machine, --sha256 says it", err)
	}
	if _, moved := fields["path"]; moved || old.SHA256[platform] != sum {
		fields["sha256"] = map[string]string{platform: sum}
	}
	return nil
}

// willRun says what is asked for.
func willRun(name string, fields map[string]any) string {
	text := name + ":"
	for _, field := range []string{"kind", "builtin", "path", "plugin", "args", "version", "sha256", "config", "env", "timeout", "concurrency", "queue", "memory_max", "run_as", "enabled"} {
		v, ok := fields[field]
		if !ok {
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			b = []byte("?")
		}
		text += " " + field + "=" + strings.Trim(string(b), `"`)
	}
	return text
}
