package logdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestFuturesAreFound: copies are told from logs, and their names are Kafka's.
func TestFuturesAreFound(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	tp := kafka.TopicPartition{Topic: "a.b-c", Partition: 12}
	s := mustOpen(t, options(a, b))
	folder := s.Dirs()[1].FuturePath(tp)
	if got := filepath.Base(folder); !strings.HasPrefix(got, "a.b-c-12.") || !strings.HasSuffix(got, "-future") || len(got) != len("a.b-c-12.-future")+32 {
		t.Errorf("a copy is called %s", got)
	}
	if err := errors.Join(os.Mkdir(folder, 0o755), os.Mkdir(filepath.Join(a, tp.String()), 0o755), s.Close(true, 1)); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, options(a, b))
	defer s.Close(true, 1)
	found := s.FoundFutures()
	if len(found) != 1 || found[0] != (Future{s.Dirs()[1], tp, folder}) || s.Found()[tp] != s.Dirs()[0] {
		t.Fatalf("found %v and %v", found, s.Found())
	}
	if err := s.RemoveFound(found[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
}

// TestLongTopicsHaveNoCopies: the bound is Kafka's, and that of file systems.
func TestLongTopicsHaveNoCopies(t *testing.T) {
	for n, want := range map[int]bool{213: true, 214: false} {
		if got := FutureFits(kafka.TopicPartition{Topic: strings.Repeat("x", n)}); got != want {
			t.Errorf("a topic of %d letters fits: %v, want %v", n, got, want)
		}
	}
}

// TestOneOfTwinsIsKept: the other goes, also when it was set aside meanwhile.
func TestOneOfTwinsIsKept(t *testing.T) {
	for _, aside := range []bool{false, true} {
		a, b := t.TempDir(), t.TempDir()
		tp := kafka.TopicPartition{Topic: "t"}
		for _, dir := range []string{a, b} {
			if err := os.Mkdir(filepath.Join(dir, tp.String()), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		s := mustOpen(t, options(a, b))
		defer s.Close(true, 1)
		if got := s.Twins()[tp]; len(got) != 2 {
			t.Fatalf("twins in %v", got)
		}
		if aside {
			if _, err := s.SetAside(s.Dirs()[0], tp); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Keep(tp, s.Dirs()[1]); err != nil {
			t.Fatal(err)
		}
		if s.Found()[tp] != s.Dirs()[1] || len(s.Twins()) != 0 {
			t.Errorf("found in %v", s.Found()[tp])
		}
		if _, err := os.Stat(filepath.Join(a, tp.String())); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the other one is still there: %v", err)
		}
	}
}

// TestPreferredDirectories are used once, and bounded.
func TestPreferredDirectories(t *testing.T) {
	s := mustOpen(t, options(t.TempDir(), t.TempDir()))
	defer s.Close(true, 1)
	first, second := s.Dirs()[0], s.Dirs()[1]
	tp := kafka.TopicPartition{Topic: "t"}
	s.Prefer(tp, second)
	for _, want := range []*Dir{second, first} {
		if got, err := s.Place(tp); err != nil || got != want {
			t.Errorf("placed in %v, %v; want %s", got, err, want.Path)
		}
	}
	for n := range preferredMax + 1 {
		s.Prefer(kafka.TopicPartition{Topic: "many", Partition: int32(n)}, second)
	}
	if got, _ := s.Place(kafka.TopicPartition{Topic: "many", Partition: preferredMax}); got != first {
		t.Error("more is remembered than the bound")
	}
}

// TestFailedDirectoryTellsItsCopies as it tells its logs.
func TestFailedDirectoryTellsItsCopies(t *testing.T) {
	s := mustOpen(t, options(t.TempDir(), t.TempDir()))
	defer s.Close(true, 1)
	d := s.Dirs()[0]
	old, copied := &fakeReplica{tp: kafka.TopicPartition{Topic: "t"}}, &fakeReplica{tp: kafka.TopicPartition{Topic: "t"}}
	d.AddFuture(old)
	d.AddFuture(copied)
	d.RemoveFuture(old) // it is not the one that is known
	d.Failed("append", errors.New("broken"))
	if copied.failures != 1 || old.failures != 0 {
		t.Errorf("told %d and %d times, want once and never", copied.failures, old.failures)
	}
}
