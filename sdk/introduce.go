package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// introduce tells a person what the program is.
func introduce(plugins []plugin.Plugin, out, stderr io.Writer, args []string) int {
	if slices.Contains(args[1:], "--describe") {
		all := make([]plugin.Description, len(plugins))
		for i, p := range plugins {
			all[i] = p.Describe()
		}
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		if err := e.Encode(all); err != nil {
			fmt.Fprintln(stderr, err)
			return exitWrong
		}
		return exitDone
	}
	name := filepath.Base(args[0])
	fmt.Fprintf(stderr, "%s is a program of plugins for Mortise. A broker starts it; by itself it does nothing.\n\n", name)
	for _, p := range plugins {
		fmt.Fprintf(stderr, "  %-14s %s %s  %s\n", p.Kind, p.Name, p.Version, p.Summary)
	}
	fmt.Fprintf(stderr, `
  mortise plugin check ./%[1]s     proves that it keeps its contract
  mortise plugin install ./%[1]s   puts it into a broker
  ./%[1]s --describe               says the same as JSON
`, name)
	return exitUsage
}
