package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadme runs the commands of the README one after another against a node,
// in a folder of its own, so that they work as they stand there.
func TestReadme(t *testing.T) {
	text := readme(t)
	n := startPlugins(t)
	at := n.Addr()
	from := t.TempDir()
	write(t, filepath.Join(from, "go.mod"), "module std\n")
	write(t, filepath.Join(from, "a/b.go"), "package b\n")
	checkout, err := filepath.Abs("../..") // where a reader is
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(n.DataDir(), "mortise-data"); err != nil {
		t.Fatal(err)
	}
	write(t, "gossip.keys", must(t, "", "", "cluster", "key")) // as the comment in one of the blocks says
	for _, block := range fenced(text, "yaml") {
		first, _, _ := strings.Cut(block, "\n")
		name, named := strings.CutPrefix(first, "# ")
		if !named {
			t.Fatalf("%q does not name the file", first)
		}
		write(t, name, block)
		must(t, at, "", "config", "check", "--config", name)
	}
	count := 0
	for _, line := range mortiseLines(t, fences(text, "sh")) {
		count++
		in, piped := strings.CutPrefix(line.piped, "echo ")
		if slices.Contains(line.args, "places.json") {
			write(t, "places.json", regexp.MustCompile(`echo '(.*)' > places.json`).FindStringSubmatch(text)[1])
		}
		if !piped && line.piped != "" {
			t.Fatalf("%q before a pipe is more than this test knows", line.piped)
		}
		var args []string
		for _, arg := range line.args {
			if arg == "." {
				arg = checkout
			}
			args = append(args, globbed(t, strings.ReplaceAll(arg, "$(go env GOROOT)/src", from))...)
		}
		if args[0] == "dev" || args[0] == "cluster" && strings.HasSuffix(args[1], "drain") { // conformance has several nodes
			parses(t, args)
			continue
		}
		if args[0] == "serve" { // a node runs already
			args = append([]string{"config", "check"}, args[1:]...)
		}
		must(t, at, in+"\n", args...)
	}
	if count < 8 {
		t.Errorf("only %d commands found", count)
	}
	if got := must(t, at, "", "consume", "greetings", "-e"); got != "hello\n" {
		t.Errorf("greetings hold %q", got)
	}
	for _, name := range []string{"go.mod", "a/b.go"} {
		want, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("copy", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("copy of %s: %q, %v", name, got, err)
		}
	}
}

// TestReadmeMentions holds that commands and variables in running text exist.
func TestReadmeMentions(t *testing.T) {
	text := readme(t)
	n, _ := start(t)
	t.Chdir(n.DataDir())
	for _, m := range regexp.MustCompile("`(\\./)?mortise ([^`]*)`").FindAllStringSubmatch(text, -1) {
		parses(t, shellWords(m[2]))
	}
	for _, m := range regexp.MustCompile("`(MORTISE_[A-Z_]+=[^`]*)`").FindAllStringSubmatch(text, -1) {
		name, value, _ := strings.Cut(m[1], "=")
		t.Setenv(name, value)
		must(t, "", "", "config", "check")
	}
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fences joins the code blocks of a language.
func fences(text, language string) string { return strings.Join(fenced(text, language), "") }

// fenced are the code blocks of a language.
func fenced(text, language string) (blocks []string) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// globbed is what a shell makes of a word.
func globbed(t *testing.T, word string) []string {
	t.Helper()
	if !strings.Contains(word, "*") {
		return []string{word}
	}
	found, err := filepath.Glob(word)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: nothing there, %v", word, err)
	}
	return found
}
