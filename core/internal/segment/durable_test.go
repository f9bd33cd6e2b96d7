package segment

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// TestSyncedIndexesSurvive holds that no power failure after a Sync leaves half of a
// time index: it would look like a whole one of records whose times do not rise, and
// retention and lookups would take its last entry for the largest timestamp.
func TestSyncedIndexesSurvive(t *testing.T) {
	const batches = 400
	s := filled(t, batches)
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	s.SetNext(s.Next())
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	disk := s.dir.FS.(*vfs.Mem)
	if err := disk.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	if err := disk.SyncDir("/p"); err != nil {
		t.Fatal(err)
	}
	largest, err := s.MaxTimestamp()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(40) {
		after := disk.Crash(vfs.CrashOptions{KeepUnsynced: 0.7, Torn: true, Rand: rand.New(rand.NewPCG(seed, 0))})
		d := NewDir(after, "/p", NewFiles(0, nil), slog.New(slog.DiscardHandler))
		again := Existing(d, s.Base(), kafka.NoOffset, s.Size(), s.Modified(), false)
		again.SetNext(s.Next())
		if ts, err := again.MaxTimestamp(); err != nil || ts != largest {
			t.Fatalf("seed %d: largest timestamp is %d, want %d: %v", seed, ts, largest, err)
		}
		if at, ok, err := again.FirstAt(largest, s.Base(), record.DecompressLimits{}); err != nil || !ok || at.Offset != s.Next()-1 {
			t.Fatalf("seed %d: the largest timestamp is at %d (%v), want %d: %v", seed, at.Offset, ok, s.Next()-1, err)
		}
	}
}

// TestFailedSyncIsNotForgotten holds that what a Sync could not do is done by the
// next one.
func TestFailedSyncIsNotForgotten(t *testing.T) {
	var faults errorfs.Switch
	disk := vfs.NewMem()
	if err := disk.MkdirAll("/p", 0o755); err != nil {
		t.Fatal(err)
	}
	counting := vfs.NewCounting(errorfs.New(disk, faults.Inject))
	s := New(NewDir(counting, "/p", NewFiles(0, nil), slog.New(slog.DiscardHandler)), 0, 0)
	if err := s.Append(batchAt(0, 2, 5, 0), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.AppendAborted(Aborted{ProducerID: 1, LastOffset: 1, LastStable: 2}); err != nil {
		t.Fatal(err)
	}
	faults.On(errorfs.Path(string(TxnIndex), vfs.OpOpen), errorfs.ErrInjected)
	if err := s.Sync(); !errors.Is(err, errorfs.ErrInjected) || !s.Changed() {
		t.Fatalf("sync with a fault: %v; waits for another: %v", err, s.Changed())
	}
	faults.Off()
	before := counting.Counts()
	if err := s.Sync(); err != nil || s.Changed() {
		t.Fatalf("sync: %v; waits for another: %v", err, s.Changed())
	}
	if n := counting.Counts().Sub(before).Of(vfs.OpSyncData); n != 2 {
		t.Errorf("%d files were made durable, want the .log and the .txnindex", n)
	}
}

// TestFailedSealLeavesTheSegmentInUse holds that a segment goes on when its indexes
// could not be written: its state must not be dropped with its file.
func TestFailedSealLeavesTheSegmentInUse(t *testing.T) {
	var faults errorfs.Switch
	disk := vfs.NewMem()
	if err := disk.MkdirAll("/p", 0o755); err != nil {
		t.Fatal(err)
	}
	d := NewDir(errorfs.New(disk, faults.Inject), "/p", NewFiles(1, nil), slog.New(slog.DiscardHandler))
	s := New(d, 0, 0)
	if err := s.Append(batchAt(0, 2, 5, 0), 0); err != nil {
		t.Fatal(err)
	}
	faults.On(errorfs.Path(string(TimeIndex), vfs.OpOpen), errorfs.ErrInjected)
	if err := s.Seal(); !errors.Is(err, errorfs.ErrInjected) {
		t.Fatalf("seal: %v", err)
	}
	faults.Off()
	if err := s.Seal(); err != nil { // now its indexes are saved
		t.Fatal(err)
	}
	d.Files.shrink(1)
	s.mu.Lock()
	kept := s.st != nil
	s.mu.Unlock()
	if !kept {
		t.Fatal("the state of a segment that takes appends was dropped")
	}
	if err := s.Append(batchAt(2, 2, 6, 0), 0); err != nil {
		t.Fatal(err)
	}
}
