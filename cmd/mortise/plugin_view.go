package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// reasonShown is how much of a reason a table shows; describe has all.
const reasonShown = 80

// pluginsView is what list prints.
type pluginsView struct {
	Brokers  []broker.PluginList `json:"brokers"`
	NotKnown string              `json:"not_known,omitempty"` // who did not answer
}

func pluginListCommand(a *app) *cobra.Command {
	var builtin bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the plugins of every broker with their state; with --builtin what is compiled in",
		Example: `  mortise plugin list
  mortise plugin list --builtin
  mortise plugin list --admin broker1.example.com:9644 -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			desks, missing := a.allDesks(c.Context())
			if len(desks) == 0 {
				return missing
			}
			var v pluginsView
			for _, d := range desks {
				v.Brokers = append(v.Brokers, d.list)
			}
			if missing != nil {
				v.NotKnown = missing.Error()
			}
			return a.printer().Value(v, func(w writer) error {
				if builtin {
					return printBuiltins(w, v.Brokers[0].Builtins)
				}
				return v.print(w)
			})
		},
	}
	c.Flags().BoolVar(&builtin, "builtin", false, "list the plugins that are compiled into the broker")
	return c
}

// print prints a line for each plugin of each broker.
func (v *pluginsView) print(w writer) error {
	head := []string{"NAME", "KIND", "STATE", "VERSION", "FROM", "CALLS", "ERRORS", "MEMORY", "REASON"}
	if len(v.Brokers) > 1 {
		head = append([]string{"BROKER"}, head...)
	}
	var rows [][]string
	for _, b := range v.Brokers {
		for _, p := range b.Plugins {
			row := []string{p.Name, string(p.Kind), string(p.State), cmp.Or(p.Version, "-"), p.From,
				strconv.FormatUint(p.Calls, 10), strconv.FormatUint(errorsOf(&p), 10), memoryOf(p.Memory), shortened(p.Reason)}
			if len(v.Brokers) > 1 {
				row = append([]string{strconv.Itoa(int(b.Broker))}, row...)
			}
			rows = append(rows, row)
		}
	}
	if err := output.Table(w, head, rows); err != nil {
		return err
	}
	if v.NotKnown != "" {
		fmt.Fprintln(w, "not known:", v.NotKnown)
	}
	return nil
}

// errorsOf counts the calls that failed, whatever the cause.
func errorsOf(p *broker.PluginReport) (n uint64) {
	for _, of := range p.Errors {
		n += of
	}
	return n
}

// memoryOf is a size for people; what is compiled in has none of its own.
func memoryOf(n uint64) string {
	if n == 0 {
		return "-"
	}
	return output.Bytes(int64(n))
}

// shortened is a text that fits into a table.
func shortened(text string) string {
	if short := []rune(text); len(short) > reasonShown {
		return string(short[:reasonShown]) + "…"
	}
	return text
}

// printBuiltins prints what is compiled in.
func printBuiltins(w writer, all []plugin.Description) error {
	var rows [][]string
	for _, b := range all {
		rows = append(rows, []string{b.Name, string(b.Kind), b.Version, b.Summary})
	}
	return output.Table(w, []string{"NAME", "KIND", "VERSION", "SUMMARY"}, rows)
}

func pluginDescribeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME",
		Short: "Say everything about a plugin: what runs, how it is, who uses it; of a built-in its settings",
		Example: `  mortise plugin describe murmur2
  mortise plugin describe authenticator/file-users -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completePlugins(1),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := a.pluginDesk(c.Context())
			if err != nil {
				return err
			}
			p, err := d.find(args[0])
			if err == nil {
				return a.printer().Value(p, func(w writer) error { return printPlugin(w, p, time.Now()) })
			}
			if b, ok := d.builtin(args[0]); ok {
				return a.printer().Value(b, func(w writer) error { return printBuiltin(w, &b) })
			}
			return err
		},
	}
}

// facts are lines of a name and a value; those without a value are left out.
type facts [][]string

func (f *facts) add(name, value string) {
	if value != "" {
		*f = append(*f, []string{name, value})
	}
}

// print prints the facts under a head.
func (f facts) print(w writer, head ...string) error { return output.Table(w, head, f) }

// printPlugin prints everything about an entry.
func printPlugin(w writer, p *broker.PluginReport, now time.Time) error {
	var f facts
	f.add("kind", string(p.Kind))
	f.add("state", fmt.Sprintf("%s since %s (%s)", p.State, p.Since.Format(time.RFC3339), now.Sub(p.Since).Round(time.Second)))
	f.add("reason", p.Reason)
	f.add("used by", strings.Join(p.UsedBy, ", "))
	from := p.From
	if p.Changed > 0 {
		from += fmt.Sprintf(", change %d", p.Changed)
	}
	if p.Covers != "" {
		from += "; stands over an entry of the same name from " + p.Covers
	}
	f.add("from", from)
	entryFacts(&f, p.Entry)
	servingFacts(&f, p)
	return f.print(w, "plugin", p.Name)
}

// entryFacts are what is wanted.
func entryFacts(f *facts, s *pluginhost.Spec) {
	if s == nil {
		return
	}
	switch {
	case s.Builtin != "":
		f.add("runs", "compiled in: "+s.Builtin)
	case s.Path != "":
		f.add("runs", strings.Join(append([]string{s.Path}, s.Args...), " "))
	}
	f.add("plugin", s.Plugin)
	for _, platform := range slices.Sorted(maps.Keys(s.SHA256)) {
		f.add("sha256", s.SHA256[platform]+" ("+platform+")")
	}
	f.add("wanted version", s.Version)
	f.add("environment", strings.Join(slices.Sorted(maps.Keys(s.Env)), ", "))
	if len(s.Config) > 0 {
		f.add("config", "set (not shown)")
	}
	if s.Timeout > 0 {
		f.add("timeout", s.Timeout.String())
	}
	if s.MemoryMax > 0 {
		f.add("memory limit", output.Bytes(int64(s.MemoryMax)))
	}
	if s.RunAs != nil {
		f.add("runs as", fmt.Sprintf("%d:%d", s.RunAs.UID, s.RunAs.GID))
	}
}

// servingFacts are how it goes.
func servingFacts(f *facts, p *broker.PluginReport) {
	if p.Serves() {
		f.add("serves", fmt.Sprintf("%s %s, generation %d", p.Plugin, p.Version, p.Generation))
		f.add("summary", p.Summary)
		f.add("features", strings.Join(p.Features, ", "))
		f.add("breaker", p.Breaker)
		if p.PID > 0 {
			f.add("process", strconv.Itoa(p.PID))
		}
		if p.Memory > 0 {
			f.add("memory", fmt.Sprintf("%s, at first %s, at most %s", memoryOf(p.Memory), memoryOf(p.MemoryFirst), memoryOf(p.MemoryPeak)))
		}
	}
	if p.Previous != "" {
		f.add("before", p.Previous+" (`rollback` goes back to it)")
	}
	if !p.BakeUntil.IsZero() {
		f.add("on trial until", p.BakeUntil.Format(time.RFC3339)+"; until then it is taken back by itself if it does worse")
	}
	if !p.RestartAt.IsZero() {
		f.add("next start", p.RestartAt.Format(time.RFC3339))
	}
	f.add("calls", fmt.Sprintf("%d, %d in flight, %d waiting", p.Calls, p.InFlight, p.Queued))
	var failed []string
	for _, cause := range slices.Sorted(maps.Keys(p.Errors)) {
		failed = append(failed, fmt.Sprintf("%s %d", cause, p.Errors[cause]))
	}
	f.add("errors", strings.Join(failed, ", "))
	f.add("restarts", strconv.FormatUint(p.Restarts, 10))
	if p.Different > 0 {
		f.add("decides otherwise", fmt.Sprintf("%d of %d recent decisions, after the last upgrade", p.Different, p.Replayed))
	}
}

// printBuiltin prints what a compiled-in plugin is and takes.
func printBuiltin(w writer, b *plugin.Description) error {
	var f facts
	f.add("kind", string(b.Kind))
	f.add("version", b.Version)
	f.add("summary", b.Summary)
	f.add("features", strings.Join(b.Features, ", "))
	if err := f.print(w, "built-in", b.Name); err != nil || len(b.Schema) == 0 {
		return err
	}
	schema, err := json.MarshalIndent(b.Schema, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "config\n%s\n", schema)
	}
	return err
}
