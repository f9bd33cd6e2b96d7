package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cluster/nodetest"
)

// pythonKey names an interpreter that has the package mortise-plugin, and pip. The
// conformance step makes one; without it Python's half is not run.
const pythonKey = "MORTISE_TEST_PYTHON"

// TestSDKReadmeInGo runs the commands of the SDK's README as they stand there.
func TestSDKReadmeInGo(t *testing.T) {
	n := startPlugins(t)
	out := runSection(t, n, "In Go", newHome(t))
	for _, want := range []string{
		"main_test.go", "partitioner/spread", " 0 failed", // new, check
		"by-region is serving", "Keys of one region share a partition.", // install, describe
		"0.2.0", "removed",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in what was printed:\n%s", want, out)
		}
	}
	if got := must(t, n.Addr(), "", "consume", "orders", "-e"); got != "book\n" {
		t.Errorf("orders hold %q", got)
	}
}

// TestSDKReadmeInPython is its other half.
func TestSDKReadmeInPython(t *testing.T) {
	python := os.Getenv(pythonKey)
	if python == "" {
		t.Skip(pythonKey + " is not set")
	}
	home := newHome(t)
	own := filepath.Join(home, "bin", "python3")
	if err := os.WriteFile(own, []byte("#!/bin/sh\nexec '"+python+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(home, "bin")+":"+os.Getenv("PATH")) // of the broker, which starts the plugin
	out := runSection(t, startPlugins(t), "In Python", home)
	for _, want := range []string{"plugin.py", "retention/executed", " 0 failed", "keep-days is serving", "removed"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in what was printed:\n%s", want, out)
		}
	}
}

// newHome is a home with the source in it, as the README has it, and this binary as
// bin/mortise. Python's package is a copy, because to install it leaves files.
func newHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"bin", "mortise/sdk", "work"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link(t, self, filepath.Join(home, "bin/mortise"))
	for _, at := range []string{"", "sdk"} {
		entries, err := os.ReadDir(filepath.Join(source, at))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			from, to := filepath.Join(source, at, e.Name()), filepath.Join(home, "mortise", at, e.Name())
			switch path := filepath.Join(at, e.Name()); path {
			case "sdk":
			case "sdk/python":
				if err := os.CopyFS(to, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
			default:
				link(t, from, to)
			}
		}
	}
	return home
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}

// runSection runs the commands of a section of the README against a node.
func runSection(t *testing.T, n *nodetest.Node, title, home string) string {
	t.Helper()
	text, err := os.ReadFile("../../sdk/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+title+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	script := fences(section, "sh")
	if !found || strings.Count(script, "mortise plugin") < 5 {
		t.Fatalf("section %q has few commands:\n%s", title, script)
	}
	c := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", script)
	c.Dir = filepath.Join(home, "work")
	c.Env = append(os.Environ(), "HOME="+home, "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"),
		"MORTISE_BROKERS="+n.Addr(), "MORTISE_ADMIN="+n.AdminAddr())
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOFLAGS"} { // of the home of the tests
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		c.Env = append(c.Env, name+"="+string(bytes.TrimSpace(value)))
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
