package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// app is what every command shares: where it reads and writes, and the flags
// of the root.
type app struct {
	in       io.Reader
	out, err io.Writer
	format   output.Format
	brokers  []string
	login    login
	// listeners are the admin listeners that --admin names; empty: guessed.
	listeners []string
	signals   <-chan os.Signal // that serve obeys; nil: the process's
}

// printer prints results in the format that was asked for.
func (a *app) printer() output.Printer { return output.Printer{Out: a.out, Format: a.format} }

// newRoot builds the whole command line.
func newRoot(in io.Reader, out, errs io.Writer) *cobra.Command {
	return (&app{in: in, out: out, err: errs, format: output.Text}).root()
}

// root builds the commands around a.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mortise",
		Short: "A Kafka-compatible log broker and its tools",
		Long: `Mortise is a distributed log that Kafka clients take for Kafka.

Start a broker with data under ./mortise-data, make a topic, write and read:

  mortise serve
  mortise topic create greetings
  echo hello | mortise produce greetings
  mortise consume greetings --stop-at-end`,
		Args:          cobra.ArbitraryArgs, // cobra's own check would exit as a failure
		RunE:          wantsSubCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return output.Usagef("%w; see %s --help", err, c.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.VarP(&a.format, "output", "o", "form of the result: text for people, json for scripts")
	complete(root, "output", string(output.Text), string(output.JSON))
	root.AddCommand(serveCommand(a), devCommand(a), clusterCommand(a), topicCommand(a), consumerGroupCommand(a), produceCommand(a), consumeCommand(a),
		configCommand(a), aclCommand(a), pluginCommand(a), userCommand(a), healthCommand(a), logCommand(a), versionCommand(a))
	asUsageErrors(root)
	return root
}

// asUsageErrors makes wrong arguments exit as a wrong command line does.
func asUsageErrors(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return output.Usagef("%w: write %s; see %s --help", err, c.UseLine(), c.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		asUsageErrors(sub)
	}
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE:  wantsSubCommand,
	}
	c.AddCommand(subs...)
	return c
}

// wantsSubCommand is what a command that only holds others says when it is
// called without one that it has.
func wantsSubCommand(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		meant := ""
		c.SuggestionsMinimumDistance = 2
		if like := c.SuggestionsFor(args[0]); len(like) > 0 {
			meant = " (did you mean " + strings.Join(like, " or ") + "?)"
		}
		return output.Usagef("%s has no sub-command %q%s; see %s --help", c.CommandPath(), args[0], meant, c.CommandPath())
	}
	return output.Usagef("%s wants a sub-command; see %s --help", c.CommandPath(), c.CommandPath())
}

// defaultBrokers is where clients look when --brokers is not given.
func defaultBrokers() []string {
	if s := os.Getenv("MORTISE_BROKERS"); s != "" {
		return []string{s}
	}
	return []string{"127.0.0.1:9092"}
}
