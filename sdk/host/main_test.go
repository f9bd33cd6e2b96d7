//go:build unix

package host

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is the tests, or, started by one of them, a plugin's process.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "behave" {
		behave(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// program is a command that runs this test binary with one behaviour.
func behaviour(t testing.TB, name string, args ...string) Command {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: path, Args: append([]string{"behave", name}, args...), RunDir: shortDir(t)}
}

// shortDir is a directory whose name is short enough for sockets below it.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, _ := os.ReadDir(dir)
		if len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
		os.RemoveAll(dir)
	})
	return dir
}
