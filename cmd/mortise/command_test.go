package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/config"
)

// commandWait bounds a command of a test; on a machine that does nothing else none takes a
// twentieth of it.
const commandWait = 2 * time.Minute

// ran is what became of a command.
type ran struct {
	out, errs string
	err       error
	code      int
}

// run runs a command line against the brokers, without a process of its own.
func run(t *testing.T, brokers, in string, args ...string) ran {
	t.Helper()
	t.Setenv("MORTISE_BROKERS", brokers)
	ctx, cancel := context.WithTimeout(t.Context(), commandWait)
	defer cancel()
	var out, errs bytes.Buffer
	root := newRoot(strings.NewReader(in), &out, &errs)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil {
		t.Fatalf("mortise %s: not done after %s", strings.Join(args, " "), commandWait)
	}
	return ran{out.String(), errs.String(), err, output.ExitCode(err)}
}

// must runs a command that has to end well, and gives its output.
func must(t *testing.T, brokers, in string, args ...string) string {
	t.Helper()
	r := run(t, brokers, in, args...)
	if r.err != nil {
		t.Fatalf("mortise %s: %v\n%s%s", strings.Join(args, " "), r.err, r.out, r.errs)
	}
	return r.out
}

// completes holds what the shell is offered for a command line, which ends in _. The shell
// does not wait for long, and who types asks again.
func completes(t *testing.T, brokers, line, want string) {
	t.Helper()
	args := append([]string{"__complete"}, strings.Fields(strings.ReplaceAll(line, "_", ""))...)
	got := ""
	for range 10 {
		if got = must(t, brokers, "", append(args, "")...); strings.HasPrefix(got, want) {
			return
		}
	}
	t.Errorf("%s: %.200q, want %q", line, got, want)
}

// fails runs a command that has to fail with a code and a text.
func fails(t *testing.T, brokers, in string, code int, want string, args ...string) {
	t.Helper()
	r := run(t, brokers, in, args...)
	if r.code != code || r.err == nil || !strings.Contains(r.err.Error(), want) {
		t.Errorf("mortise %s: code %d, %v; want code %d and %q", strings.Join(args, " "), r.code, r.err, code, want)
	}
}

// start runs a node for a test and gives its address.
func start(t *testing.T) (*nodetest.Node, string) {
	t.Helper()
	n := startWith(t, nil)
	return n, n.Addr()
}

// startWith runs a node with Kafka's broker keys.
func startWith(t *testing.T, static config.Static) *nodetest.Node {
	t.Helper()
	return nodetest.Start(t, nodetest.Options{Retention: builtinRetention(), Admin: true, Static: static})
}

// TestWrongCommandLines holds that what can't be meant exits with 2 and does
// nothing: there is no broker at this address.
func TestWrongCommandLines(t *testing.T) {
	const nobody = "127.0.0.1:1"
	for _, c := range []struct{ line, want string }{
		{"", "wants a sub-command"},
		{"topic", "mortise topic wants a sub-command"},
		{"nosuch", `mortise has no sub-command "nosuch"`},
		{"topic nosuch", `mortise topic has no sub-command "nosuch"`},
		{"--nosuch", "unknown flag: --nosuch; see mortise --help"},
		{"topic create", "at least 1 arg"},
		{"topic create x --partitions many", `invalid argument "many"`},
		{"topic create x --config a", `"a" is not KEY=VALUE`},
		{"topic list extra", "extra"},
		{"topic alter x", "nothing to alter"},
		{"topic alter x --partitions -3", "--partitions -3"},
		{"topic alter x --set a", `"a" is not KEY=VALUE`},
		{"produce", "at least 1 arg"},
		{"produce t --acks 5", `--acks "5"; write one of all, 1, 0`},
		{"produce t --compression foo", "write one of none, gzip, snappy, lz4, zstd"},
		{"produce t --header foo", `header "foo" is not NAME=VALUE`},
		{"produce t --files . extra", "--files takes a folder"},
		{"produce t --files . --key-separator :", "with --files the key is the path"},
		{"produce t --partition -2", "--partition -2"},
		{"produce t --rate -1", "--rate -1"},
		{"produce t --batch-bytes 0", "--batch-bytes 0"},
		{"consume", "accepts 1 arg"},
		{"consume t --from x", `"x" is no position`},
		{"consume t --from @x", `"x" is no time`},
		{"consume t --format %z", "no such thing as %z"},
		{"consume t --format %s -o json", "--format has no place"},
		{"consume t --count -4", "--count -4"},
		{"log dump", "at least 1 arg"},
		{"log verify", "at least 1 arg"},
		{"version extra", "extra"},
		{"version -o yaml", `"yaml" is neither text nor json`},
		{"config check --advertise a:1", "--advertise goes with --listen"},
		{"config check --listen 0.0.0.0:9092", "flag --listen: listeners: listener 1: advertised: missing"},
		{"config check --node-id x", `flag --node-id: node.id: "x" is not a number`},
		{"config check --durability always", "flag --durability: durability:"},
		{"config check --log-level loud", "flag --log-level: log.level:"},
		{"config check --admin-address x", "flag --admin-address: admin.address:"},
		{"config check --data= ", "flag --data: data.dir: must not be empty"},
		{"config check --config nosuch.yaml", "nosuch.yaml: no such file"},
		{"config check --config .", "is a directory"},
		{"serve --config nosuch.yaml", "nosuch.yaml: no such file"},
		{"serve extra", "extra"},
	} {
		fails(t, nobody, "", output.ExitUsage, c.want, strings.Fields(c.line)...)
	}
}

// TestNobodyThere holds that a client command says who does not answer and how
// to name another.
func TestNobodyThere(t *testing.T) {
	for _, line := range []string{"topic list", "topic describe t", "topic create t", "topic alter t --partitions 2", "topic delete t", "consume t -e", "produce t"} {
		fails(t, "127.0.0.1:1", "", output.ExitFailure, "no broker at 127.0.0.1:1; --brokers or MORTISE_BROKERS names another", strings.Fields(line)...)
	}
}

func TestVersion(t *testing.T) {
	if out := must(t, "", "", "version"); !strings.HasPrefix(out, "mortise dev (commit ") {
		t.Error(out)
	}
	if v := decode[versionView](t, must(t, "", "", "version", "-o", "json")); v.Kafka != "4.4" || v.Go == "" {
		t.Errorf("%+v", v)
	}
}

// commands calls f for every command of the tree.
func commands(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		commands(sub, f)
	}
}

// TestEveryCommandExplainsItself holds that each command that does something has
// an example, and that flags say what they are for.
func TestEveryCommandExplainsItself(t *testing.T) {
	commands(newRoot(nil, nil, nil), func(c *cobra.Command) {
		if c.Short == "" || !c.HasSubCommands() && c.Example == "" {
			t.Errorf("%s: no line about it, or no example", c.CommandPath())
		}
	})
}
