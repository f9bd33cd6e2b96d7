package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/adminhttp"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/pluginhost"
)

func pluginLogsCommand(a *app) *cobra.Command {
	var last int
	c := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print the last lines that a plugin wrote on a broker",
		Example: `  mortise plugin logs murmur2
  mortise plugin logs murmur2 --last 20`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completePlugins(1),
		RunE: func(c *cobra.Command, args []string) error {
			if last < 0 {
				return output.Usagef("--last %d: write a number of lines, or 0 for all that are kept", last)
			}
			d, err := a.pluginDesk(c.Context())
			if err != nil {
				return err
			}
			if _, err := d.find(args[0]); err != nil {
				return err
			}
			page, err := adminhttp.Get[pluginLines](c.Context(), d.address, "/v1/plugins/"+args[0]+"/logs")
			if err != nil {
				return err
			}
			if n := len(page.Lines); last > 0 && n > last {
				page.Lines = page.Lines[n-last:]
			}
			return a.printer().Value(page, func(w writer) error {
				if len(page.Lines) == 0 {
					fmt.Fprintf(a.err, "%s has written nothing on broker %d\n", args[0], d.list.Broker)
				}
				for _, l := range page.Lines {
					fmt.Fprintf(w, "%s #%d %s\n", l.Time.Format(time.RFC3339), l.Generation, l.Text)
				}
				return nil
			})
		},
	}
	c.Flags().IntVarP(&last, "last", "n", 0, "only so many lines; 0: all that the broker keeps")
	return c
}

// pluginLines is the page of a plugin's log.
type pluginLines struct {
	Lines []pluginhost.Line `json:"lines"`
}
