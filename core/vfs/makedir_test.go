package vfs

import (
	"testing"
)

// TestMakeDirIsDurable holds that a synced file in new folders outlives a power
// loss, with nothing above synced by anybody else.
func TestMakeDirIsDurable(t *testing.T) {
	m := NewMem()
	must(t, MakeDir(m, "a/b/c"))
	f := create(t, m, "a/b/c/f", "x")
	must(t, f.Sync(), m.SyncDir("a/b/c"))
	after := m.Crash(CrashOptions{})
	if got := content(t, after, "a/b/c/f"); got != "x" {
		t.Errorf("after the crash %q", got)
	}
	must(t, MakeDir(after, "a/b"), MakeDir(after, "."), MakeDir(after, "/"))
	if n := countSyncs(t, "a/b/c", after); n != 0 {
		t.Errorf("a folder that exists cost %d syncs", n)
	}
	if err := MakeDir(after, "a/b/c/f/g"); err == nil {
		t.Error("a folder was made below a file")
	}
}

func countSyncs(t *testing.T, name string, disk FS) int64 {
	c := NewCounting(disk)
	must(t, MakeDir(c, name))
	return c.Counts().Syncs()
}
