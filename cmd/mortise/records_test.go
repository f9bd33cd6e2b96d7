package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cmd/internal/console"
	"github.com/mortisemq/mortise/cmd/internal/output"
)

func TestRecordsThereAndBack(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "t", "-p", "3")
	out := must(t, at, "k:v\nNULL:x\nk:NULL\n:\n", "produce", "t", "-k", ":", "--null", "NULL", "-H", "a=b", "-H", "c=", "-p", "1")
	if !strings.HasPrefix(out, "4 records, 4 B, acknowledged by all in-sync replicas in ") {
		t.Error(out)
	}
	want := "1/0 k(1) v(1) a=b,c=\n1/1 (-1) x(1) a=b,c=\n1/2 k(1) (-1) a=b,c=\n1/3 (0) (0) a=b,c=\n"
	if got := must(t, at, "", "consume", "t", "-e", "-f", `%p/%o %k(%K) %s(%S) %h\n`); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	lines := strings.SplitAfter(must(t, at, "", "consume", "t", "-e", "-o", "json"), "\n")
	if len(lines) != 5 || strings.Contains(lines[1], `"key"`) || strings.Contains(lines[2], `"value":"NULL"`) || !strings.Contains(lines[3], `"key":"","value":""`) {
		t.Errorf("%s", lines)
	}
}

func TestProduceFlags(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "t")
	for _, codec := range codecs {
		must(t, at, codec+"\n", "produce", "t", "--compression", codec)
	}
	if out := must(t, at, "one\n", "produce", "t", "--acks", "1"); !strings.Contains(out, "acknowledged by the leader") {
		t.Error(out)
	}
	if out := must(t, at, "", "produce", "t", "--acks", "all", "--rate", "1000"); !strings.HasPrefix(out, "0 records") {
		t.Error(out)
	}
	done := decode[console.Produced](t, must(t, at, "r\nr\nr\n", "produce", "t", "--rate", "1000", "-o", "json"))
	if done.Records != 3 || done.Bytes != 3 || done.Elapsed.Milliseconds() < 2 {
		t.Errorf("three records at 1000 a second: %+v", done)
	}
	if out := must(t, at, "zero\n", "produce", "unread", "--acks", "0"); !strings.Contains(out, "no acknowledgement asked for") {
		t.Error(out)
	}
	name := filepath.Join(t.TempDir(), "lines")
	write(t, name, "first\nlast")
	must(t, at, "", "produce", "t", name, name)
	want := strings.Join(append(codecs, "one", "r", "r", "r", "first", "last", "first", "last"), "\n") + "\n"
	if got := must(t, at, "", "consume", "t", "-e"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProduceErrors(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "t")
	big := strings.Repeat("x", 3_000_000)
	for _, c := range []struct {
		in, want string
		args     []string
	}{
		{big, `the record that begins with "xxx`, []string{"t"}},
		{big, "of 3000000 bytes is too large: the topic's max.message.bytes and this command's --batch-bytes must both allow it", []string{"t"}},
		{"key:" + big, `the record with key "key" of 3000003 bytes`, []string{"t", "-k", ":", "--batch-bytes", "4000000"}},
		{"x", "topic t has no partition 7: it has 1, from 0", []string{"t", "-p", "7"}},
		{"a:1\nb\n", `line 2: no key: ":" is not in it`, []string{"t", "-k", ":"}},
		{"", "no such file", []string{"t", "nosuchfile"}},
		{"", "no such file", []string{"t", "--files", "nosuchfolder"}},
		{"x", "UNKNOWN_TOPIC_OR_PARTITION", []string{"absent", "--create=false"}},
		{"x", "INVALID_TOPIC_EXCEPTION", []string{"a*b"}},
	} {
		fails(t, at, c.in, output.ExitFailure, c.want, append([]string{"produce"}, c.args...)...)
	}
	r := run(t, at, "a:1\nb\n", "produce", "t", "-k", ":", "-o", "json")
	if done := decode[console.Produced](t, r.out); r.code != output.ExitFailure || done.Records > 1 {
		t.Errorf("code %d, %+v: the count of what was acknowledged goes with an error too", r.code, done)
	}
	must(t, at, "made\n", "produce", "on-demand")
	if got := must(t, at, "", "consume", "on-demand", "-e"); got != "made\n" {
		t.Errorf("%q", got)
	}
}

// TestProduceIsInterrupted holds that a command that waits for a line ends when it
// is told to.
func TestProduceIsInterrupted(t *testing.T) {
	_, at := start(t)
	t.Setenv("MORTISE_BROKERS", at)
	lines, typing := io.Pipe()
	defer typing.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	var out bytes.Buffer
	root := newRoot(lines, &out, io.Discard)
	root.SetArgs([]string{"produce", "t"})
	ended := make(chan error)
	go func() { ended <- root.ExecuteContext(ctx) }()
	if _, err := io.WriteString(typing, "first\n"); err != nil {
		t.Fatal(err)
	}
	interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was interrupted", err)
	}
}

func TestConsumePositions(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "t", "-p", "2")
	must(t, at, "a0\na1\na2\n", "produce", "t", "-p", "0")
	must(t, at, "b0\nb1\n", "produce", "t", "-p", "1")
	for _, c := range []struct{ line, want string }{
		{"-e -p 0", "a0 a1 a2"},
		{"-e -p 0 --from start", "a0 a1 a2"},
		{"-e -p 0 --from 1", "a1 a2"},
		{"-e -p 0 --from -2", "a1 a2"},
		{"-e -p 0 --from -99", "a0 a1 a2"},
		{"-e -p 0 --from end", ""},
		{"-e -p 0 --from 3", ""},
		{"-e -p 0 --from 100", ""},
		{"-e --from 2", "a2"},
		{"-e -p 0 --from @1h", "a0 a1 a2"},
		{"-e -p 0 --from @0", "a0 a1 a2"},
		{"-e -p 0 --from @2999-01-01", ""},
		{"-e -p 1,0 -n 1 --from -1 -p 1", "b1"},
		{"-p 0 -n 2", "a0 a1"},
		{"-p 0 -n 2 --from 1", "a1 a2"},
	} {
		got := must(t, at, "", append([]string{"consume", "t"}, strings.Fields(c.line)...)...)
		if strings.Join(strings.Fields(got), " ") != c.want && !strings.Contains(c.line, "-p 1,0") {
			t.Errorf("consume %s: %q, want %q", c.line, got, c.want)
		}
		if n := len(strings.Fields(got)); strings.Contains(c.line, "-p 1,0") && n != 1 {
			t.Errorf("consume %s: %d records, want 1", c.line, n)
		}
	}
	fails(t, at, "", output.ExitFailure, "topic t has no partition 9", "consume", "t", "-p", "9")
	fails(t, at, "", output.ExitFailure, "topic absent: UNKNOWN_TOPIC_OR_PARTITION", "consume", "absent", "-e")
	must(t, at, "", "topic", "create", "empty", "-p", "3")
	if out := must(t, at, "", "consume", "empty", "-e"); out != "" {
		t.Errorf("an empty topic holds %q", out)
	}
}

// awkward are names that a tree of files may hold.
var awkward = map[string]string{
	"plain": "x", "ä ö": "umlaut", "new\nline": "y", "..dots": "z", "bad\xff": "q", "a/b/c/deep": "d",
	"empty": "", "-o": "dash", "bin": "\x00\xff\n", "back\\slash": "b", "*": "star",
}

func TestTreeThereAndBack(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "tree", "-p", "3", "-c", "max.message.bytes=8388608")
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for name, content := range awkward {
		write(t, filepath.Join(from, name), content)
	}
	write(t, filepath.Join(from, "big"), strings.Repeat("x", 3_000_000))
	if err := os.Symlink("nowhere", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	fails(t, at, "", output.ExitFailure, `the record with key "big" of 3000003 bytes is too large`, "produce", "tree", "--files", from)
	r := run(t, at, "", "produce", "tree", "--files", from, "--batch-bytes", "8000000")
	if want := strconv.Itoa(len(awkward)+1) + " records, "; r.err != nil || !strings.HasPrefix(r.out, want) || !strings.Contains(r.errs, "1 links and other things") {
		t.Errorf("%v\n%s%s", r.err, r.out, r.errs)
	}
	must(t, at, "", "consume", "tree", "--files", to, "-e")
	for name, content := range awkward {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || !bytes.Equal(got, []byte(content)) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	if out := must(t, at, "", "consume", "tree", "--files", to, "-e", "-o", "json"); !strings.Contains(out, `"records": `) {
		t.Errorf("%q", out)
	}
}

// write makes a file and the folders above it.
func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
