package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

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
leader-epoch-checkpoint, partition.metadata, the checkpoints of a log folder, or
every one of them in a folder (not in the folders below it).
Nothing is changed; a broker may be running.`,
		Example: `  mortise log dump mortise-data/logs/greetings-0
  mortise log dump mortise-data/logs/greetings-0/00000000000000000000.log --records
  mortise log dump mortise-data/logs/greetings-0 --data -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, paths []string) error {
			o.JSON = a.format == output.JSON
			return dumpAll(a.out, paths, o)
		},
	}
	c.Flags().BoolVar(&o.Records, "records", false, "show the records of each batch, too")
	c.Flags().BoolVar(&o.Data, "data", false, "with their keys, values and headers")
	return c
}

// dumpAll dumps every path. One in which there is nothing to dump is an error,
// so that a person who gave the wrong folder hears of it.
func dumpAll(w io.Writer, paths []string, o tool.DumpOptions) error {
	for _, path := range paths {
		counted := &countingWriter{w: w}
		err := tool.Dump(counted, vfs.OS(), path, o)
		if err == nil && counted.n == 0 {
			err = errors.New("nothing here to dump; give the folder of a partition, such as mortise-data/logs/TOPIC-0, or one of its files")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// countingWriter counts what goes through it.
type countingWriter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func logVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify PATH…",
		Short: "Check every byte of partitions against its checksums and indexes",
		Long: `Check the files of partitions: the checksum of each batch, offsets without a
step back, indexes that point at batches, checkpoints and snapshots that can be
read. A path is a file of a partition, its folder, or a folder of such folders;
other files beside them are left out. Nothing is changed, and a broker may be
running. The exit code is 1 when something is wrong.`,
		Example: `  mortise log verify mortise-data/logs
  mortise log verify mortise-data/logs/*
  mortise log verify mortise-data/logs/greetings-0 -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, paths []string) error {
			v := verification{Findings: []tool.Finding{}}
			for _, path := range paths {
				if err := v.check(a, c, path); err != nil {
					return err
				}
			}
			return v.result(a)
		},
	}
}

// verification is what `log verify` saw over all of its paths.
type verification struct {
	Files    int            `json:"files"`
	Bytes    int64          `json:"bytes"`
	Batches  int64          `json:"batches"`
	Records  int64          `json:"records"`
	Skipped  []string       `json:"skipped,omitempty"` // paths that are no files of a log
	Findings []tool.Finding `json:"findings"`

	damaged int
}

// partitionsOf is where the partitions are when path is a broker's data folder,
// and else path itself.
func partitionsOf(path string) string {
	logs := filepath.Join(path, "logs")
	if _, err := os.Stat(filepath.Join(logs, "meta.properties")); err == nil {
		return logs
	}
	return path
}

// check adds what one path holds.
func (v *verification) check(a *app, c *cobra.Command, path string) error {
	path = partitionsOf(path)
	report, err := inspect(a, c, path)
	for again := 1; again < looksMax && err == nil && beingWritten(report); again++ {
		report, err = inspect(a, c, path)
	}
	if errors.Is(err, tool.ErrUnknownFile) {
		v.Skipped = append(v.Skipped, path)
		return nil
	}
	if err != nil {
		return err
	}
	v.Files += report.Files
	v.Bytes += report.Bytes
	v.Batches += report.Batches
	v.Records += report.Records
	for _, f := range report.Findings {
		if f.Level == tool.Damage {
			v.damaged++
			v.Findings = append(v.Findings, f)
		}
	}
	v.damaged += report.Dropped[tool.Damage]
	return nil
}

// looksMax bounds how often files are checked that a broker writes meanwhile.
const looksMax = 5

// beingWritten reports whether what looks like damage may be a batch that a broker
// was writing at that moment: then the file has just changed, and a second look
// finds it whole.
func beingWritten(r *tool.Report) bool {
	for _, f := range r.Findings {
		if f.Level != tool.Damage {
			continue
		}
		if info, err := os.Stat(f.File); err != nil || time.Since(info.ModTime()) > justNow {
			return false
		}
	}
	return r.Damaged()
}

// justNow is how old a change is at most that may have been under way.
const justNow = 10 * time.Second

// inspect checks what is at a path and shows how far it has come.
func inspect(a *app, c *cobra.Command, path string) (*tool.Report, error) {
	var bar *output.Progress
	report, err := tool.Inspect(c.Context(), vfs.OS(), path, tool.InspectOptions{Progress: func(done, total int64) {
		if bar == nil {
			bar = output.NewProgress(a.err, path, total, true)
		}
		bar.Set(done)
	}})
	if bar != nil {
		bar.Finish()
	}
	return report, err
}

// result prints what was seen and fails if something is wrong, or if there was
// nothing to check.
func (v *verification) result(a *app) error {
	err := a.printer().Value(v, func(w writer) error {
		for _, f := range v.Findings {
			fmt.Fprintln(w, f)
		}
		_, err := fmt.Fprintf(w, "%d files, %s, %d batches, %d records: %d things wrong\n",
			v.Files, output.Bytes(v.Bytes), v.Batches, v.Records, v.damaged)
		return err
	})
	switch {
	case err != nil:
		return err
	case v.damaged > 0:
		return fmt.Errorf("%d things are wrong", v.damaged)
	case v.Files == 0:
		return errors.New("no files of a log in what was given; give the folder of a partition, such as mortise-data/logs/TOPIC-0, or one of such folders")
	}
	return nil
}
