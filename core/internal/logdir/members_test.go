package logdir

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// withCheckpoints is a directory whose files speak of t-0 and t-1, and that has a
// folder for those that are named.
func withCheckpoints(t *testing.T, folders ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range checkpointFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("0\n2\nt 0 7\nt 1 8\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range folders {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFreeTakesOldLinesOut holds that a name can be used again only when no file
// speaks of the old log, and that this costs one writing for all names.
func TestFreeTakesOldLinesOut(t *testing.T) {
	t0, t1 := kafka.TopicPartition{Topic: "t"}, kafka.TopicPartition{Topic: "t", Partition: 1}
	counting := &renames{FS: vfs.OS()}
	o := options(withCheckpoints(t)) // both were deleted just before a crash
	o.FS = counting
	s := mustOpen(t, o)
	defer s.Close(false, 0)
	d := s.Dirs()[0]
	if got := d.RecoveryPoint(t0); got != kafka.NoOffset {
		t.Fatalf("recovery point %d of a log that is gone", got)
	}
	written := counting.n
	for _, tp := range []kafka.TopicPartition{t0, t1, {Topic: "new"}} {
		if err := d.Free(tp); err != nil {
			t.Fatal(err)
		}
	}
	if got := counting.n - written; got != len(checkpointFiles) {
		t.Fatalf("%d files were replaced, want each once", got)
	}
	for _, name := range checkpointFiles {
		if got := readFile(t, d.Path, name); got != "0\n0\n" {
			t.Fatalf("%s is %q", name, got)
		}
	}
	d.Add(&fakeReplica{tp: t0, start: 3, end: 9, point: 8, mark: 7})
	if err := d.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	d.Remove(t0)
	if err := d.Free(t0); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, d.Path, RecoveryPointFile); got != "0\n0\n" {
		t.Fatalf("%s is %q after the log was removed", RecoveryPointFile, got)
	}
}

// TestFreeIsNotDoneUntilItIsWritten holds that a failure is not forgotten.
func TestFreeIsNotDoneUntilItIsWritten(t *testing.T) {
	s := mustOpen(t, options(withCheckpoints(t)))
	d := s.Dirs()[0]
	if err := s.Close(false, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Free(kafka.TopicPartition{Topic: "t"}); err == nil {
			t.Fatal("a name counts as free although nothing was written")
		}
	}
}

// TestOnlyRecoveredLogsAreMarkedClean holds that logs which nobody opened since a
// crash are not called clean, keep their lines, and are recovered by the next start.
func TestOnlyRecoveredLogsAreMarkedClean(t *testing.T) {
	t0, t1 := kafka.TopicPartition{Topic: "t"}, kafka.TopicPartition{Topic: "t", Partition: 1}
	for _, c := range []struct {
		name             string
		wasClean, open   bool
		closed, markWant bool
	}{
		{"nothing left out", false, true, true, true},
		{"never opened after a crash", false, false, true, false},
		{"never opened after a clean stop", true, false, true, true},
		{"a log did not close", true, true, false, false},
	} {
		dir := withCheckpoints(t, "t-0", "t-1")
		mark := filepath.Join(dir, CleanShutdownFile)
		if c.wasClean {
			if err := os.WriteFile(mark, cleanShutdown(1), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s := mustOpen(t, options(dir))
		d := s.Dirs()[0]
		d.Add(&fakeReplica{tp: t0, start: 7, end: 9, point: 9, mark: 9})
		want := "0\n2\nt 0 9\nt 1 8\n"
		if c.open {
			d.Add(&fakeReplica{tp: t1, start: 7, end: 9, point: 9, mark: 9})
			want = "0\n2\nt 0 9\nt 1 9\n"
		}
		if !c.closed {
			d.NotClean()
		}
		if err := s.Close(true, 2); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(mark); (err == nil) != c.markWant {
			t.Errorf("%s: marked clean: %v, want %v", c.name, err == nil, c.markWant)
		}
		if got := readFile(t, dir, RecoveryPointFile); got != want && got != fmt.Sprintf("0\n2\nt 1 %c\nt 0 9\n", want[len(want)-2]) {
			t.Errorf("%s: recovery points %q, want %q", c.name, got, want)
		}
	}
}
