package segment

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// crowd is n sealed segments of one batch on a disk that counts, behind a cache of
// limit files.
func crowd(t *testing.T, n, limit int) ([]*Segment, *vfs.Counting) {
	t.Helper()
	disk := vfs.NewMem()
	if err := disk.MkdirAll("/p", 0o755); err != nil {
		t.Fatal(err)
	}
	counting := vfs.NewCounting(disk)
	d := NewDir(counting, "/p", NewFiles(limit, nil), slog.New(slog.DiscardHandler))
	var list []*Segment
	for i := range n {
		base := kafka.Offset(i * 2)
		s := New(d, base, 0)
		if err := s.Append(batchAt(base, 2, 1000+int64(base), 0), 0); err != nil {
			t.Fatal(err)
		}
		if err := s.Seal(); err != nil {
			t.Fatal(err)
		}
		s.SetNext(base + 2)
		list = append(list, s)
	}
	return list, counting
}

func get(t *testing.T, s *Segment) *Range {
	t.Helper()
	f, err := s.Read(Request{From: s.Base(), Upper: s.Next(), MaxBytes: 1 << 20})
	if err != nil || f.Range == nil {
		t.Fatalf("read segment %d: %v", s.Base(), err)
	}
	return f.Range
}

func TestCacheClosesTheLeastUsed(t *testing.T) {
	list, disk := crowd(t, 8, 3)
	if n := len(disk.OpenFiles()); n != 3 {
		t.Fatalf("%d files open, want 3: %v", n, disk.OpenFiles())
	}
	for _, s := range list[:3] { // these are the three now, all used
		get(t, s).Release()
	}
	list[0].dir.Files.shrink(1)
	before := disk.Counts()
	again := 0
	for _, s := range list[:3] {
		if h := s.handle.Load(); h != nil {
			again++
			get(t, s).Release()
		}
	}
	if opens := disk.Counts().Sub(before).Of(vfs.OpOpen); again != 2 || opens != 0 {
		t.Errorf("%d of three files stayed, and %d were opened again; want 2 and 0", again, opens)
	}
	if n := list[0].dir.Files.Open(); n != 2 {
		t.Errorf("the cache says that %d files are open, want 2", n)
	}
}

// TestFilesInUseStayOpen holds that a range keeps its file beyond the limit, and
// that the last of several closes it.
func TestFilesInUseStayOpen(t *testing.T) {
	list, disk := crowd(t, 6, 1)
	var held []*Range
	for _, s := range list {
		held = append(held, get(t, s), get(t, s))
	}
	if n := len(disk.OpenFiles()); n != len(list) {
		t.Fatalf("%d files open, %d are in use", n, len(list))
	}
	for i, r := range held {
		b, err := r.ReadAll(nil)
		if err != nil || record.Batch(b).BaseOffset() != list[i/2].Base() {
			t.Fatalf("range of segment %d: %v", list[i/2].Base(), err)
		}
		r.Release()
	}
	if n := len(disk.OpenFiles()); n != 1 {
		t.Fatalf("%d files open after the last reader, want the cache's one: %v", n, disk.OpenFiles())
	}
}

// TestEvictionHidesNothing has the cache drop a segment's file, and with it the
// indexes, between their load and their use.
func TestEvictionHidesNothing(t *testing.T) {
	lookups := map[string]func(*Segment) (bool, error){
		"FirstAt": func(s *Segment) (bool, error) {
			at, ok, err := s.FirstAt(1002, s.Base(), record.DecompressLimits{})
			return ok && at.Offset == s.Base()+2, err
		},
		"Latest": func(s *Segment) (bool, error) {
			at, ok, err := s.Latest(record.DecompressLimits{})
			return ok && at.Offset == s.Next()-1, err
		},
		"Truncate": func(s *Segment) (bool, error) {
			err := s.Truncate(s.Base() + 2)
			return s.Next() == s.Base()+2, err
		},
	}
	for name, lookup := range lookups {
		s := filled(t, 5)
		if err := s.Seal(); err != nil {
			t.Fatal(err)
		}
		s.CloseFile()
		again := Existing(s.dir, s.Base(), s.Next(), s.Size(), s.Modified(), false)
		again.SetNext(s.Next())
		evictions := 0
		evict := func() {
			evictions++
			again.dir.Files.shrink(1)
		}
		s.dir.FS.(*vfs.Mem).OnOp(func(op vfs.Op) {
			switch {
			case op.Kind == vfs.OpRead && op.Name == again.Path(Log) && evictions == 0:
				evict() // the load goes on with a file of its own, which it closes in the end
			case op.Kind == vfs.OpClose && op.Name == again.Path(Log) && evictions == 1:
				h, err := again.acquire(false) // another reader
				if err != nil {
					t.Error(err)
					return
				}
				h.unref()
				evict()
			}
		})
		if ok, err := lookup(again); !ok || err != nil || evictions != 2 {
			t.Errorf("%s after %d evictions: found what is there: %v, %v", name, evictions, ok, err)
		}
	}
}

// TestClosedSegmentOpensNothing holds that a reader who comes late leaves no file
// open behind a log that is gone.
func TestClosedSegmentOpensNothing(t *testing.T) {
	list, disk := crowd(t, 1, 4)
	s := list[0]
	held := get(t, s)
	s.Close()
	if _, err := s.Read(Request{From: s.Base(), Upper: s.Next(), MaxBytes: 1 << 20}); !errors.Is(err, ErrDeleted) {
		t.Errorf("read after close: %v", err)
	}
	if err := s.Visit(0, func(record.Batch, func() (record.Batch, error)) error { return nil }); !errors.Is(err, ErrDeleted) {
		t.Errorf("visit after close: %v", err)
	}
	if b, err := held.ReadAll(nil); err != nil || len(b) != int(held.Len()) {
		t.Errorf("a range in flight: %v", err)
	}
	held.Release()
	if open := disk.OpenFiles(); len(open) != 0 {
		t.Errorf("files are open: %v", open)
	}
}

// TestMissingAbortedIsNotEmpty holds that readers of a segment that was deleted
// under them are not told that nothing in it was aborted.
func TestMissingAbortedIsNotEmpty(t *testing.T) {
	s := filled(t, 3)
	if err := s.AppendAborted(Aborted{1, 100, 104, 105}); err != nil {
		t.Fatal(err)
	}
	again := Existing(s.dir, s.Base(), s.Next(), s.Size(), s.Modified(), true)
	if err := again.MarkDeleted(); err != nil {
		t.Fatal(err)
	}
	if got, _, err := again.AbortedIn(nil, 100, 106); !errors.Is(err, ErrDeleted) {
		t.Errorf("%v, %v; want that the segment is gone", got, err)
	}
}
