package main

import (
	"bufio"
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cmd/internal/console"
	"github.com/mortisemq/mortise/cmd/internal/output"
)

// consumeFlags are the flags of consume.
type consumeFlags struct {
	options console.ConsumeOptions
	from    string
	format  string
	files   string
}

func consumeCommand(a *app) *cobra.Command {
	var f consumeFlags
	c := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Read records and print them, or write each to a file",
		Long: `Read records of a topic, by default from the start and on and on.

A format (-f) may hold
` + console.FormatHelp + `

With -o json each record is one line of JSON; bytes that are not UTF-8 come in
base64 under key_base64 and value_base64. With --files each value goes into the
file that its key names, and content that differs from its sha256 header is an
error.`,
		Example: `  mortise consume greetings --stop-at-end
  mortise consume orders --from @1h -f '%T %k %s\n'
  mortise consume orders --from -10 -e -o json
  mortise consume source --files copy --stop-at-end`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeTopics(1, false),
		RunE: func(c *cobra.Command, args []string) error {
			f.options.Topic = args[0]
			return f.run(a, c)
		},
	}
	a.addBrokers(c)
	flags := c.Flags()
	flags.Int32SliceVarP(&f.options.Partitions, "partition", "p", nil, "partitions to read; none: all")
	flags.StringVar(&f.from, "from", "start", "where to start: "+console.PositionHelp)
	flags.BoolVarP(&f.options.StopAtEnd, "stop-at-end", "e", false, "stop at the end that the partitions have now")
	flags.Int64VarP(&f.options.Count, "count", "n", 0, "stop after so many records; 0: no bound")
	flags.StringVarP(&f.format, "format", "f", console.DefaultFormat, "how to print a record")
	flags.StringVar(&f.files, "files", "", "a folder: write each value to the file that its key names")
	return c
}

func (f *consumeFlags) run(a *app, c *cobra.Command) error {
	if f.options.Count < 0 {
		return output.Usagef("--count %d: write how many records, or 0 for no bound", f.options.Count)
	}
	if c.Flags().Changed("format") && (f.files != "" || a.format == output.JSON) {
		return output.Usagef("--format has no place beside --files or -o json")
	}
	from, err := console.ParsePosition(f.from, time.Now())
	if err != nil {
		return &output.UsageError{Err: err}
	}
	f.options.From = from
	each, done, err := f.sink(a)
	if err != nil {
		return err
	}
	client, err := a.client(kgo.KeepControlRecords(), kgo.FetchMaxWait(time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	bar := &output.Progress{}
	if f.files != "" && f.options.StopAtEnd {
		f.options.Progress = func(done, total int64) {
			if done > 0 && bar.Empty() {
				bar = output.NewProgress(a.err, "consuming", total, false)
			}
			bar.Set(done)
		}
	}
	count, err := console.Consume(c.Context(), client, f.options, each)
	bar.Finish()
	if closed := done(); err == nil {
		err = closed
	}
	if f.files != "" {
		printed := a.printer().Value(map[string]int64{"records": count}, func(w writer) error {
			_, err := fmt.Fprintln(w, counted(int(count), "record"))
			return err
		})
		err = cmp.Or(err, printed)
	}
	return err
}

// sink is what happens to each record, and how it ends.
func (f *consumeFlags) sink(a *app) (each func(*kgo.Record) error, done func() error, err error) {
	if f.files != "" {
		w, err := console.NewFileWriter(f.files)
		if err != nil {
			return nil, nil, err
		}
		return w.Write, w.Close, nil
	}
	formatter, err := console.NewFormatter(f.format)
	if err != nil {
		return nil, nil, &output.UsageError{Err: err}
	}
	// A person who watches wants each record at once; a pipe wants few writes.
	out := bufio.NewWriterSize(a.out, 64<<10)
	var line []byte
	each = func(r *kgo.Record) error {
		var err error
		if a.format == output.JSON {
			line, err = console.AppendJSON(line[:0], r)
		} else {
			line = formatter.Append(line[:0], r)
		}
		if err == nil {
			_, err = out.Write(line)
		}
		if err == nil && !f.options.StopAtEnd {
			err = out.Flush()
		}
		return err
	}
	return each, out.Flush, nil
}
