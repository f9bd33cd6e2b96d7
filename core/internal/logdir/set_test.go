package logdir

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// fakeReplica is a log with fixed offsets.
type fakeReplica struct {
	tp                      kafka.TopicPartition
	start, end, point, mark kafka.Offset
	flushes, failures       int
}

func (f *fakeReplica) TopicPartition() kafka.TopicPartition { return f.tp }
func (f *fakeReplica) TopicID() kafka.TopicID               { return kafka.NoTopicID }
func (f *fakeReplica) StartOffset() kafka.Offset            { return f.start }
func (f *fakeReplica) EndOffset() kafka.Offset              { return f.end }
func (f *fakeReplica) RecoveryPoint() kafka.Offset          { return f.point }
func (f *fakeReplica) HighWatermark() kafka.Offset          { return f.mark }
func (f *fakeReplica) SizeBytes() int64                     { return 0 }
func (f *fakeReplica) FlushSealed()                         { f.flushes++ }
func (f *fakeReplica) DirectoryFailed()                     { f.failures++ }

// renames counts the files that were replaced.
type renames struct {
	vfs.FS
	n int
}

func (r *renames) Rename(from, to string) error {
	r.n++
	return r.FS.Rename(from, to)
}

// options are those of a broker over directories of the operating system.
func options(dirs ...string) Options {
	return Options{FS: vfs.OS(), Dirs: dirs, ClusterID: "c1", NodeID: 3, Clock: clock.NewManual(time.Unix(1_700_000_000, 0)), ReserveBytes: 64 << 10}
}

func mustOpen(t *testing.T, o Options) *Set {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCheckpointsAndCleanShutdownSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "t-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, options(dir))
	if s.Dirs()[0].Clean {
		t.Fatal("a fresh directory counts as cleanly shut down")
	}
	id := s.Dirs()[0].ID
	r := &fakeReplica{tp: kafka.TopicPartition{Topic: "t", Partition: 1}, start: 4, end: 9, point: 8, mark: 7}
	s.Dirs()[0].Add(r)
	if err := s.Close(true, 42); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		RecoveryPointFile: "0\n1\nt 1 8\n",
		LogStartFile:      "0\n1\nt 1 4\n",
		HighWatermarkFile: "0\n1\nt 1 7\n",
		CleanShutdownFile: `{"version":0,"brokerEpoch":42}`,
	} {
		if got := readFile(t, dir, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	props := readFile(t, dir, PropertiesFile)
	for _, line := range []string{"version=1\n", "cluster.id=c1\n", "node.id=3\n", "directory.id=" + id.String() + "\n"} {
		if !strings.Contains(props, line) {
			t.Errorf("meta.properties lacks %q:\n%s", line, props)
		}
	}

	s = mustOpen(t, options(dir))
	d := s.Dirs()[0]
	if !d.Clean || d.CleanEpoch != 42 || d.ID != id {
		t.Fatalf("clean %v by %d, id %s, want clean by 42 and id %s", d.Clean, d.CleanEpoch, d.ID, id)
	}
	if d.RecoveryPoint(r.tp) != 8 || d.LogStart(r.tp) != 4 || d.HighWatermark(r.tp) != 7 {
		t.Fatalf("checkpoints say %d %d %d, want 8 4 7", d.RecoveryPoint(r.tp), d.LogStart(r.tp), d.HighWatermark(r.tp))
	}
	if _, err := os.Stat(filepath.Join(dir, CleanShutdownFile)); !os.IsNotExist(err) {
		t.Fatalf("the mark is still there while the broker runs: %v", err)
	}
	if err := s.Close(false, 0); err != nil {
		t.Fatal(err)
	}
	if s = mustOpen(t, options(dir)); s.Dirs()[0].Clean {
		t.Fatal("an unclean stop counts as clean")
	}
	s.Close(false, 0)
}

// LOG-06
func TestGarbageCheckpointCountsAsUnknown(t *testing.T) {
	dir := t.TempDir()
	for _, name := range checkpointFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("0\n7\nt 0 "), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, options(dir))
	defer s.Close(false, 0)
	tp := kafka.TopicPartition{Topic: "t"}
	if d := s.Dirs()[0]; d.RecoveryPoint(tp) != kafka.NoOffset || d.LogStart(tp) != kafka.NoOffset || d.HighWatermark(tp) != kafka.NoOffset {
		t.Fatal("garbage was believed")
	}
}

func TestSecondBrokerAndForeignDirectoryAreRefused(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, options(dir))
	var locked *vfs.LockedError
	if _, err := Open(options(dir)); !errors.As(err, &locked) {
		t.Fatalf("second open: %v, want a LockedError", err)
	}
	if err := s.Close(true, 0); err != nil {
		t.Fatal(err)
	}
	other := options(dir)
	other.ClusterID = "c2"
	if _, err := Open(other); !errors.Is(err, ErrIdentity) {
		t.Fatalf("another cluster: %v, want ErrIdentity", err)
	}
	other = options(dir)
	other.NodeID = 4
	if _, err := Open(other); !errors.Is(err, ErrIdentity) {
		t.Fatalf("another node: %v, want ErrIdentity", err)
	}
}

func TestPeriodicCheckpointWritesOnlyWhatChanged(t *testing.T) {
	dir := t.TempDir()
	o := options(dir)
	m := o.Clock.(*clock.Manual)
	counting := &renames{FS: vfs.OS()}
	o.FS = counting
	s := mustOpen(t, o)
	defer s.Close(false, 0)
	d := s.Dirs()[0]
	r := &fakeReplica{tp: kafka.TopicPartition{Topic: "t"}, end: 1, point: 1, mark: 1}
	d.Add(r)
	s.Start()
	m.Advance(DefaultCheckpointInterval)
	if got := readFile(t, dir, HighWatermarkFile); got != "0\n1\nt 0 1\n" {
		t.Fatalf("high watermarks %q", got)
	}
	before := counting.n
	m.Advance(5 * DefaultCheckpointInterval)
	if after := counting.n; after != before {
		t.Fatalf("%d files were replaced although nothing changed", after-before)
	}
	r.mark = 2
	d.Appended()
	m.Advance(DefaultCheckpointInterval)
	if got := readFile(t, dir, HighWatermarkFile); got != "0\n1\nt 0 2\n" {
		t.Fatalf("high watermarks %q", got)
	}
	m.Advance(sealedEvery * DefaultCheckpointInterval)
	if r.flushes != 1 {
		t.Fatalf("sealed segments were flushed %d times, want once", r.flushes)
	}
}

func TestIOErrorTakesOnlyItsDirectoryOffline(t *testing.T) {
	s := mustOpen(t, options(t.TempDir(), t.TempDir()))
	defer s.Close(true, 0)
	a, b := s.Dirs()[0], s.Dirs()[1]
	ra, rb := &fakeReplica{tp: kafka.TopicPartition{Topic: "a"}}, &fakeReplica{tp: kafka.TopicPartition{Topic: "b"}}
	a.Add(ra)
	b.Add(rb)
	a.Failed("append", syscall.EMFILE)
	if a.Offline() != nil {
		t.Fatal("running out of file handles took a directory offline (LOG-18)")
	}
	a.Failed("append", io.ErrUnexpectedEOF)
	a.Failed("append", io.ErrUnexpectedEOF)
	if !errors.Is(a.Offline(), ErrOffline) || !errors.Is(a.Writable(), ErrOffline) || b.Offline() != nil {
		t.Fatalf("offline %v and %v, want only the first", a.Offline(), b.Offline())
	}
	if ra.failures != 1 || rb.failures != 0 {
		t.Fatalf("told %d and %d times, want once and never", ra.failures, rb.failures)
	}
	if d, err := s.Place(kafka.TopicPartition{}); err != nil || d != b {
		t.Fatalf("a new log goes to %v, %v, want the directory that works", d, err)
	}
}

// LOG-12: a full disk makes appends pause; space that comes back is found by the
// next append after the pause.
func TestFullDiskPausesAppends(t *testing.T) {
	o := options(t.TempDir())
	m := o.Clock.(*clock.Manual)
	s := mustOpen(t, o)
	defer s.Close(true, 0)
	d := s.Dirs()[0]
	d.Failed("append", syscall.ENOSPC)
	if !errors.Is(d.Writable(), ErrFull) || d.Offline() != nil {
		t.Fatalf("writable %v, offline %v, want full and online", d.Writable(), d.Offline())
	}
	m.Advance(fullPause)
	if err := d.Writable(); err != nil {
		t.Fatalf("writable %v after the pause, want another try", err)
	}
	d.Appended()
	if err := d.Writable(); err != nil {
		t.Fatalf("writable %v after an append that worked", err)
	}
}

// A full disk that is found out by a flush is a failed flush: the pages are gone.
func TestFlushOnAFullDiskTakesTheDirectoryOffline(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	d := s.Dirs()[0]
	l, a := &quickLog{err: syscall.ENOSPC}, new(answers)
	d.Syncer.Wait(&Pending{Target: l}, 1, a)
	d.Syncer.close()
	if got := a.all(); len(got) != 1 || got[0] == nil {
		t.Fatalf("answers %v, want one error", got)
	}
	if err := d.Offline(); !errors.Is(err, ErrOffline) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("offline %v, want the failed flush", err)
	}
	s.Close(true, 1)
}

// But a small file that a full disk has no room for is as it was.
func TestFlushThatReplacesNoFileOnAFullDiskPausesAppends(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	d := s.Dirs()[0]
	full := vfs.NewMem()
	full.SetCapacity(1)
	l, a := &quickLog{err: vfs.WriteFileAtomic(full, "epochs", []byte("0\n1\n7 6\n"))}, new(answers)
	if !vfs.IsNoSpace(l.err) {
		t.Fatal(l.err)
	}
	d.Syncer.Wait(&Pending{Target: l}, 1, a)
	d.Syncer.close()
	if got := a.all(); len(got) != 1 || got[0] == nil {
		t.Fatalf("answers %v, want one error", got)
	}
	if d.Offline() != nil || !errors.Is(d.Writable(), ErrFull) {
		t.Errorf("writable %v, offline %v, want full and online", d.Writable(), d.Offline())
	}
	s.Close(true, 1)
}

func TestNothingIsWrittenAfterClose(t *testing.T) {
	files := &renames{FS: vfs.OS()}
	o := options(t.TempDir())
	o.FS = files
	s := mustOpen(t, o)
	if err := s.Close(true, 1); err != nil {
		t.Fatal(err)
	}
	before := files.n
	s.Dirs()[0].Appended()
	s.Checkpoint() // a tick that was on its way
	if files.n != before {
		t.Fatalf("%d files were replaced in a directory that is another's by now", files.n-before)
	}
}

func TestReserveIsGivenUpOnce(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, options(dir))
	defer s.Close(true, 0)
	info, err := os.Stat(filepath.Join(dir, reserveFile))
	if err != nil || info.Size() != 64<<10 {
		t.Fatalf("reserve %v, %v, want 64 KiB", info, err)
	}
	if !s.Dirs()[0].ReleaseReserve() || s.Dirs()[0].ReleaseReserve() {
		t.Fatal("the reserve must be released exactly once")
	}
	if _, err := os.Stat(filepath.Join(dir, reserveFile)); !os.IsNotExist(err) {
		t.Fatalf("the reserve still takes space: %v", err)
	}
}

func TestScanFindsPartitionsAndSetsStraysAside(t *testing.T) {
	dir := t.TempDir()
	id := kafka.NewTopicID()
	for _, name := range []string{"t-0", "u-1", "u-2.0123-delete", "v-3.0123-stray", "lost+found"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "t-0", metadataFile), []byte("version: 0\ntopic_id: "+id.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, options(dir))
	defer s.Close(true, 0)
	d := s.Dirs()[0]
	t0, u1 := kafka.TopicPartition{Topic: "t"}, kafka.TopicPartition{Topic: "u", Partition: 1}
	if len(s.Found()) != 2 || s.Found()[t0] != d || s.Found()[u1] != d {
		t.Fatalf("found %v", s.Found())
	}
	if got, err := d.Owner(t0); err != nil || got != (Owner{TopicID: id}) || !got.Of(id) || got.Of(kafka.NewTopicID()) {
		t.Fatalf("owner %+v, %v, want topic id %s", got, err, id)
	}
	if got, err := d.Owner(u1); err != nil || !got.Of(id) {
		t.Fatalf("owner %+v, %v of a directory without anything", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "u-1", "00000000000000000000.log"), []byte("data"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Owner(u1); err != nil || got.Of(id) {
		t.Fatalf("owner %+v, %v: data without a topic id can be anybody's", got, err)
	}
	s.RemoveDeleted()
	if _, err := os.Stat(filepath.Join(dir, "u-2.0123-delete")); !os.IsNotExist(err) {
		t.Fatalf("what a deletion left is still there: %v", err)
	}
	to, err := s.SetAside(d, u1)
	if err != nil || !strayName.MatchString(filepath.Base(to)) {
		t.Fatalf("set aside to %q, %v", to, err)
	}
	if _, err := os.Stat(to); err != nil {
		t.Fatal(err)
	}
}

// A mark says that the stop was clean by being there; what it says beside that may be
// missing or not to be read.
func TestMarksOfCleanShutdowns(t *testing.T) {
	for text, want := range map[string]kafka.BrokerEpoch{
		``: NoBrokerEpoch, `{}`: NoBrokerEpoch, `{"version":0,"brokerEpoch":-1}`: NoBrokerEpoch, `{"brokerEpoch":"x"}`: NoBrokerEpoch,
		`{"version":1,"brokerEpoch":7,"more":true}`: 7, strings.Repeat(" ", cleanShutdownMax) + `{"brokerEpoch":7}`: NoBrokerEpoch,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, CleanShutdownFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		clean, got, err := takeCleanShutdown(vfs.OS(), dir)
		if !clean || got != want || err != nil {
			t.Errorf("%.40q: clean %v by %d, %v; want clean by %d", text, clean, got, err, want)
		}
	}
}
