package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/plugin"
)

func pluginRunCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run KIND/NAME",
		Short: "Be the process of a built-in plugin, for a broker that starts it",
		Long: `Be the process of a built-in plugin: what a catalogue names as the program of an entry
that shall not run inside the broker. Started by a person it says what it is.`,
		Example: `  mortise plugin run authenticator/file-users`,
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return builtinNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := compiledIn(args[0])
			if err != nil {
				return err
			}
			sdk.Serve(p) // exits
			return nil
		},
	}
}

// compiledIn is a built-in by KIND/NAME.
func compiledIn(text string) (plugin.Plugin, error) {
	kind, name, _ := strings.Cut(text, "/")
	p, err := plugin.Find(builtins(), plugin.Kind(kind), name)
	if err != nil {
		return p, output.Usagef("no built-in %q; write one of %s", text, strings.Join(builtinNames(), ", "))
	}
	return p, nil
}

// builtinNames are all built-ins as KIND/NAME.
func builtinNames() (names []string) {
	for _, p := range builtins() {
		names = append(names, string(p.Kind)+"/"+p.Name)
	}
	return names
}
