package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/tool"
	"github.com/mortisemq/mortise/core/vfs"
)

func logCommand(a *app) *cobra.Command {
	return group("log", "Look into the files of a partition, without a broker",
		logDumpCommand(a), logVerifyCommand(a))
}

func logDumpCommand(a *app) *cobra.Command {
	var o tool.DumpOptions
	c := &cobra.Command{
		Use:   "dump PATH…",
		Short: "Print what segments, indexes, snapshots and checkpoints hold",
		Long: `Print what files hold: .log, .index, .timeindex, .txnindex, .snapshot,
leader-epoch-checkpoint, or every one of them in a partition's folder.
Nothing is changed; a broker may be running.`,
		Example: `  mortise log dump mortise-data/logs/greetings-0
  mortise log dump mortise-data/logs/greetings-0/00000000000000000000.log --records`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, paths []string) error {
			o.JSON = a.format == output.JSON
			for _, path := range paths {
				if err := tool.Dump(a.out, vfs.OS(), path, o); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&o.Records, "records", false, "show the records of each batch, too")
	c.Flags().BoolVar(&o.Data, "data", false, "with their keys, values and headers")
	return c
}

func logVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify PATH…",
		Short: "Check every byte of partitions against its checksums and indexes",
		Long: `Check the files of partitions: the checksum of each batch, offsets without a
step back, indexes that point at batches, checkpoints and snapshots that can be
read. Nothing is changed. The exit code is 1 when something is wrong.`,
		Example: `  mortise log verify mortise-data/logs/*`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, paths []string) error {
			findings := []tool.Finding{}
			for _, path := range paths {
				bar := output.NewProgress(a.err, path, -1, true)
				found, err := tool.Verify(c.Context(), vfs.OS(), path, func(done, _ int64) { bar.Set(done) })
				bar.Finish()
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				findings = append(findings, found...)
			}
			err := a.printer().Value(findings, func(w writer) error {
				for _, f := range findings {
					fmt.Fprintln(w, f)
				}
				if len(findings) == 0 {
					fmt.Fprintln(w, "nothing wrong")
				}
				return nil
			})
			if err == nil && len(findings) > 0 {
				err = fmt.Errorf("%d things are wrong", len(findings))
			}
			return err
		},
	}
}
