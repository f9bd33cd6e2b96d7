package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/sdktest"
	"github.com/mortisemq/mortise/sdk/skeleton"
)

// pluginCheckFlags say what is checked.
type pluginCheckFlags struct {
	kind, name, config, facts, builtin string
	args                               []string
	verbose                            bool
}

func pluginCheckCommand(a *app) *cobra.Command {
	var f pluginCheckFlags
	c := &cobra.Command{
		Use:   "check [PROGRAM]",
		Short: "Prove that a plugin keeps its contract, without a broker",
		Long: `Start a program as a broker does and run the cases of the conformance kit against it:
what its kind owes the broker, what it does with wrong questions, and how it ends.
It takes some seconds. The exit code is 1 if a case failed.

What the kit can't know is in --facts, a JSON object; all is optional:
  {"login": {"user": "alice", "password": "…"}, "token": "…", "uneven": true, "open": true}`,
		Example: `  mortise plugin check ./prefixpartitioner
  mortise plugin check ./prefixpartitioner --kind partitioner --config prefixes.json -o json
  mortise plugin check --builtin partitioner/murmur2`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := f.subject(a, c, args)
			if err != nil {
				return err
			}
			r := sdktest.Check(c.Context(), s)
			if err := a.printer().Value(r, func(w writer) error { return r.WriteText(w) }); err != nil {
				return err
			}
			if !r.Passed() {
				return fmt.Errorf("%s does not keep its contract", r.Plugin.Name)
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.kind, "kind", "", "the kind to check; needed if the program has plugins of several")
	flags.StringVar(&f.name, "plugin", "", "the plugin to check; needed if the program has several of the kind")
	flags.StringVar(&f.config, "config", "", "the plugin's own config: JSON, or the path of a file with JSON")
	flags.StringVar(&f.facts, "facts", "", "what the kit can't know: JSON, or the path of a file with JSON")
	flags.StringVar(&f.builtin, "builtin", "", "check a built-in, KIND/NAME, in place of a program")
	flags.StringArrayVar(&f.args, "arg", nil, "an argument of the program; may be given again")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show what the program writes")
	complete(c, "kind", kindNames()...)
	complete(c, "builtin", builtinNames()...)
	return c
}

// subject is what the flags say to check.
func (f *pluginCheckFlags) subject(a *app, c *cobra.Command, args []string) (s sdktest.Subject, err error) {
	if (len(args) == 0) == (f.builtin == "") {
		return s, output.Usagef("write the path of a program, or --builtin KIND/NAME")
	}
	if f.config != "" {
		if s.Config, err = jsonOrFile(f.config); err != nil {
			return s, output.Usagef("--config: %w", err)
		}
	}
	if f.facts != "" {
		text, err := jsonOrFile(f.facts)
		if err == nil {
			err = plugin.Decode(text, &s.Facts)
		}
		if err != nil {
			return s, output.Usagef("--facts: %w", err)
		}
	}
	if f.builtin != "" {
		p, err := compiledIn(f.builtin)
		s.Source, s.Kind, s.Name = sdktest.InProcess(p), p.Kind, p.Name
		return s, err
	}
	path, err := absolutePath(args[0])
	if err != nil {
		return s, err
	}
	command := host.Command{Path: path, Args: f.args}
	if f.verbose {
		command.Stderr = func(line []byte) { fmt.Fprintf(a.err, "%q\n", line) }
	}
	s.Source, s.Kind, s.Name = sdktest.Program(command), plugin.Kind(f.kind), f.name
	if f.kind != "" && f.name != "" {
		return s, nil // even if it can't be asked what it has: the kit says why
	}
	all, err := describeProgram(c.Context(), command)
	if err != nil {
		return s, err
	}
	d, err := chosen(all, f.kind, f.name)
	s.Kind, s.Name = d.Kind, d.Name
	return s, err
}

// newPluginView is what new wrote.
type newPluginView struct {
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
}

func pluginNewCommand(a *app) *cobra.Command {
	var o skeleton.Options
	c := &cobra.Command{
		Use:   "new KIND",
		Short: "Write a new plugin: a program that works, its test and a README",
		Long: `Write the beginning of a plugin into an empty folder: a program that keeps its contract
as it is, its test, and a README with what to run next. KIND is partitioner,
authenticator, authorizer or retention.`,
		Example: `  mortise plugin new partitioner --dir mine
  mortise plugin new retention --lang python --dir keep-fridays`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return kindNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if o.Dir == "" {
				return output.Usagef("--dir: write where the plugin shall be")
			}
			o.Kind = plugin.Kind(args[0])
			files, err := skeleton.Write(o)
			switch {
			case isOption(err):
				return &output.UsageError{Err: err}
			case err != nil:
				return err
			}
			return a.printer().Value(newPluginView{o.Dir, files}, func(w writer) error {
				_, err := fmt.Fprintf(w, "%s has %s; its README.md says what to do next\n", o.Dir, strings.Join(files, ", "))
				return err
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.Language, "lang", skeleton.Go, "go or python")
	flags.StringVar(&o.Dir, "dir", "", "an empty folder, or one that is not there yet")
	flags.StringVar(&o.Name, "name", "", "the plugin's name; without it that of the folder")
	flags.StringVar(&o.Module, "module", "", "the path of the Go module; without it example.com/NAME")
	flags.StringVar(&o.Checkout, "checkout", "", "a folder with the source of Mortise, for a Go plugin to use in place of a release")
	complete(c, "lang", skeleton.Go, skeleton.Python)
	return c
}

// isOption says whether skeleton.Write did not like what it was asked for.
func isOption(err error) bool {
	return slices.ContainsFunc([]error{skeleton.ErrKind, skeleton.ErrLanguage, skeleton.ErrName, skeleton.ErrCheckout}, func(e error) bool { return errors.Is(err, e) })
}
