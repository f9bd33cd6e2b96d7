package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cmd/internal/console"
	"github.com/mortisemq/mortise/cmd/internal/output"
)

// produceFlags are the flags of produce.
type produceFlags struct {
	lines       console.LineOptions
	headers     []string
	files       string
	rate        float64
	partition   int32
	compression string
	acks        string
	create      bool
	maxBytes    int32

	partitioner partitionerFlags

	skipped int // links and the like below --files
}

func produceCommand(a *app) *cobra.Command {
	var f produceFlags
	c := &cobra.Command{
		Use:   "produce TOPIC [FILE…]",
		Short: "Write records: a line each, or a file each",
		Long: `Write records to a topic: one for each line of the files (or of standard input),
or with --files one for each file below a folder: its key is the path, its value
the content, and a header sha256 carries the digest.

Exits with 0 only if every record was acknowledged. A record that is too large
needs a larger --batch-bytes and a topic whose max.message.bytes allows it.`,
		Example: `  echo hello | mortise produce greetings
  mortise produce users --key-separator : < users.txt
  mortise produce source --files "$(go env GOROOT)/src"
  mortise produce users --key-separator : --partitioner crc32 < users.txt
  seq 1000 | mortise produce numbers --rate 100 --compression zstd`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeTopics(1, true),
		RunE:              func(c *cobra.Command, args []string) error { return f.run(a, c, args[0], args[1:]) },
	}
	a.addBrokers(c)
	flags := c.Flags()
	flags.StringVarP(&f.lines.KeySeparator, "key-separator", "k", "", "what stands between key and value on a line; none: no key")
	flags.StringVar(&f.lines.Null, "null", "", "text that stands for a null key or value")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "a header for every record, NAME=VALUE; may be given again")
	flags.StringVar(&f.files, "files", "", "a folder: one record for each file below it")
	flags.Float64Var(&f.rate, "rate", 0, "records a second at the most; 0: as fast as it goes")
	flags.Int32VarP(&f.partition, "partition", "p", -1, "the partition to write to; -1: by key")
	flags.StringVarP(&f.compression, "compression", "z", "none", "none, gzip, snappy, lz4 or zstd")
	flags.StringVar(&f.acks, "acks", "all", "who must have a record before it counts: all, 1 or 0")
	flags.BoolVar(&f.create, "create", true, "let the broker make a topic that does not exist, if it does that")
	flags.Int32Var(&f.maxBytes, "batch-bytes", 1000012, "largest batch; the topic's max.message.bytes must allow it")
	f.partitioner.add(c)
	complete(c, "compression", codecs...)
	complete(c, "acks", "all", "1", "0")
	return c
}

// codecs are the values of --compression.
var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

func (f *produceFlags) run(a *app, c *cobra.Command, topic string, files []string) error {
	if err := f.check(files); err != nil {
		return err
	}
	options, err := f.options(topic)
	if err != nil {
		return err
	}
	if f.partitioner.name != "" {
		option, stop, err := f.partitioner.start(c.Context(), a)
		if err != nil {
			return err
		}
		defer stop()
		options = append(options, option)
	}
	client, err := a.client(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := console.CheckPartition(c.Context(), client, topic, f.partition); err != nil {
		return err
	}
	bar := &output.Progress{}
	if f.files == "" && len(files) == 0 && output.IsTerminal(a.in) {
		fmt.Fprintln(a.err, "each line becomes a record; Ctrl-D ends the input")
	} else {
		bar = output.NewProgress(a.err, "producing", -1, true)
	}
	done, err := console.Produce(c.Context(), client, f.records(c.Context(), a, files), console.ProduceOptions{
		Rate:     f.rate,
		Progress: func(p console.Produced) { bar.Set(p.Bytes) },
	})
	bar.Finish()
	if f.skipped > 0 {
		fmt.Fprintf(a.err, "%d links and other things that are no files were left out\n", f.skipped)
	}
	printed := a.printer().Value(done, func(w writer) error {
		_, err := fmt.Fprintf(w, "%s, %s, %s in %s\n",
			counted(int(done.Records), "record"), output.Bytes(done.Bytes), f.promise(), done.Elapsed.Round(time.Millisecond))
		return err
	})
	if err != nil {
		return err
	}
	return printed
}

// promise says what became of the records that are counted.
func (f *produceFlags) promise() string {
	switch f.acks {
	case "0":
		return "sent, with no acknowledgement asked for,"
	case "1":
		return "acknowledged by the leader"
	}
	return "acknowledged by all in-sync replicas"
}

// check looks at the flags as a set, and reads the headers.
func (f *produceFlags) check(files []string) error {
	switch {
	case f.files != "" && len(files) > 0:
		return output.Usagef("--files takes a folder of records; the files %q have no place beside it", files)
	case f.files != "" && (f.lines.KeySeparator != "" || f.lines.Null != ""):
		return output.Usagef("--key-separator and --null are for lines; with --files the key is the path")
	case f.partition < -1:
		return output.Usagef("--partition %d: write the number of a partition, or -1 for one by key", f.partition)
	case f.partition >= 0 && f.partitioner.name != "":
		return output.Usagef("--partition %d and --partitioner: one of them chooses the partition", f.partition)
	case f.partitioner.config != "" && f.partitioner.name == "":
		return output.Usagef("--partitioner-config without --partitioner")
	case f.rate < 0:
		return output.Usagef("--rate %g: write the records a second, or 0 for as fast as it goes", f.rate)
	case f.maxBytes <= 0:
		return output.Usagef("--batch-bytes %d: write a number of bytes", f.maxBytes)
	}
	for _, h := range f.headers {
		header, err := console.ParseHeader(h)
		if err != nil {
			return &output.UsageError{Err: err}
		}
		f.lines.Headers = append(f.lines.Headers, header)
	}
	return nil
}

// options turns flags into client options.
func (f *produceFlags) options(topic string) ([]kgo.Opt, error) {
	byName := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	codec, ok := byName[f.compression]
	if !ok {
		return nil, output.Usagef("--compression %q; write one of %s", f.compression, strings.Join(codecs, ", "))
	}
	options := []kgo.Opt{
		kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(f.maxBytes),
		kgo.UnknownTopicRetries(4),
		kgo.RecordDeliveryTimeout(30 * time.Second),
	}
	if f.partition >= 0 {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	if f.create {
		options = append(options, kgo.AllowAutoTopicCreation())
	}
	switch f.acks {
	case "all":
	case "1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		options = append(options, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	default:
		return nil, output.Usagef("--acks %q; write one of all, 1, 0", f.acks)
	}
	return options, nil
}

// records are what the flags say to write, each for the partition of the flags.
func (f *produceFlags) records(ctx context.Context, a *app, files []string) iter.Seq2[*kgo.Record, error] {
	return func(yield func(*kgo.Record, error) bool) {
		for _, source := range f.sources(ctx, a, files) {
			for r, err := range source {
				if err == nil {
					r.Partition = f.partition
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// sources are the sequences of records, one for each input.
func (f *produceFlags) sources(ctx context.Context, a *app, files []string) []iter.Seq2[*kgo.Record, error] {
	if f.files != "" {
		return []iter.Seq2[*kgo.Record, error]{console.Files(f.files, f.lines.Headers, func(string) { f.skipped++ })}
	}
	if len(files) == 0 {
		return []iter.Seq2[*kgo.Record, error]{console.Interruptible(ctx, console.Lines(a.in, f.lines))}
	}
	var sources []iter.Seq2[*kgo.Record, error]
	for _, name := range files {
		sources = append(sources, f.fileLines(name))
	}
	return sources
}

// fileLines reads the lines of a file that is opened when its turn comes.
func (f *produceFlags) fileLines(name string) iter.Seq2[*kgo.Record, error] {
	return func(yield func(*kgo.Record, error) bool) {
		file, err := os.Open(name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		for r, err := range console.Lines(file, f.lines) {
			if err != nil {
				err = fmt.Errorf("%s: %w", strings.TrimPrefix(filepath.Clean(name), "./"), err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
