package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// notRun are commands whose examples are only parsed: they run until somebody ends them,
// print text for a shell, or want a cluster of several nodes.
var notRun = []string{"mortise serve", "mortise completion", "mortise plugin run", "mortise dev",
	"mortise cluster members remove", "mortise cluster voters add", "mortise cluster voters remove", "mortise cluster undrain"}

// cheapUser is a file of users whose hashes cost little: an authenticator hashes for
// those who are not there too.
const cheapUser = `users:
  alice:
    password: "$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"
`

// TestExamplesRun runs the examples of every command against a node, each in a world in
// which what it names is there, so that they work as they stand in the help.
func TestExamplesRun(t *testing.T) {
	n := startPlugins(t)
	at := n.Addr()
	from := t.TempDir()
	write(t, filepath.Join(from, "a/b.go"), "package b\n")
	prefixes := program(t)
	t.Chdir(t.TempDir())
	if err := os.Symlink(prefixes, "prefixpartitioner"); err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "users.yaml")
	write(t, users, cheapUser)
	write(t, "users.json", fmt.Sprintf(`{"file": %q}`, users))
	write(t, "prefixes.json", "{}")
	if err := os.Symlink(n.DataDir(), "mortise-data"); err != nil {
		t.Fatal(err)
	}
	write(t, "mortise.yaml", "node:\n  id: 1\n")
	write(t, "users.txt", "ann:1\n")
	here := strings.NewReplacer("$(go env GOROOT)/src", from, "127.0.0.1:9644", n.AdminAddr(),
		"broker1.example.com:9644", n.AdminAddr(), "broker1.example.com:9092", at, "broker2.example.com:9092", at)
	ran := 0
	commands(newRoot(nil, io.Discard, io.Discard), func(c *cobra.Command) {
		path := c.CommandPath()
		if !c.HasParent() || slices.ContainsFunc(notRun, func(p string) bool { return strings.HasPrefix(path, p) }) {
			return
		}
		for _, line := range mortiseLines(t, c.Example) {
			if path == "mortise consume" && !slices.Contains(line.args, "--stop-at-end") && !slices.Contains(line.args, "-e") {
				continue // it goes on for ever
			}
			ran++
			makeExampleWorld(t, at, path)
			var args []string
			for _, arg := range line.args {
				args = append(args, globbed(t, here.Replace(arg))...)
			}
			in := "hello\n"
			if line.file != "" {
				text, err := os.ReadFile(line.file)
				if err != nil {
					t.Fatal(err)
				}
				in = string(text)
			}
			must(t, at, in, args...)
		}
	})
	if ran < 40 {
		t.Errorf("only %d examples ran", ran)
	}
}

// makeExampleWorld makes what the examples of a command name.
func makeExampleWorld(t *testing.T, at, path string) {
	t.Helper()
	switch {
	case path == "mortise topic create":
		must(t, at, "", "topic", "delete", "orders", "audit", "--if-exists")
		return
	case path == "mortise acl remove":
		must(t, at, "", "acl", "add", "User:alice", "read", "write", "--topic", "orders")
		return
	case strings.HasPrefix(path, "mortise plugin "):
		makePluginWorld(t, path != "mortise plugin install")
		return
	}
	must(t, at, "", "topic", "create", "orders", "greetings", "users", "source", "-p", "4", "--if-not-exists")
	must(t, at, "hello\n", "produce", "greetings", "-p", "0")
	commitAt(t, at, "billing", "orders", 0)
}

// makePluginWorld makes the plugins that examples name, with a version to go back to, or
// takes them away.
func makePluginWorld(t *testing.T, there bool) {
	t.Helper()
	for name, args := range map[string][]string{
		"users":    {"--builtin", "file-users", "--config", "users.json"},
		"prefixes": {"./prefixpartitioner", "--kind", "partitioner", "--plugin", "prefix"},
	} {
		if run(t, "", "", "plugin", "describe", name).err == nil {
			must(t, "", "", "plugin", "remove", name)
		}
		if there {
			must(t, "", "", append([]string{"plugin", "install", name}, args...)...)
			must(t, "", "", "plugin", "upgrade", name, "--timeout", "1s")
		}
	}
}
