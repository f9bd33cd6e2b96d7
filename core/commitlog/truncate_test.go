package commitlog

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

func TestDeleteOldestWaitsForReaders(t *testing.T) {
	b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentBytes = 1000 })
	b.fill(60, 40)
	want := b.all(1 << 20)[:2000]
	s, err := b.log.Read(0, ReadOptions{MaxBytes: 900, Upper: 200})
	if err != nil {
		t.Fatal(err)
	}
	n := len(b.log.Segments()) - 1
	if err := b.log.DeleteOldest(n+1, b.log.EndOffset(), "test"); err == nil {
		t.Fatal("the active segment was deleted")
	}
	if err := b.log.DeleteOldest(n-1, b.log.Segments()[n-1].Next, "test"); !errors.Is(err, ErrChanged) || b.log.StartOffset() != 0 {
		t.Fatalf("segments that end elsewhere than the caller saw were deleted: %v", err)
	}
	if err := b.log.DeleteOldest(n, b.log.Segments()[n-1].Next, "test"); err != nil {
		t.Fatal(err)
	}
	if start := b.log.StartOffset(); start != b.log.Segments()[0].Base || start == 0 {
		t.Fatalf("start %d", start)
	}
	if !strings.Contains(b.names(), ".log.deleted") {
		t.Fatalf("files %s", b.names())
	}
	b.clock.Advance(time.Minute)
	if strings.Contains(b.names(), ".deleted") {
		t.Fatalf("files %s: file.delete.delay.ms has passed", b.names())
	}
	got, err := s.Range.ReadAll(nil)
	if err != nil || !bytes.Equal(got, want[:len(got)]) {
		t.Fatalf("a range in flight lost its bytes: %v", err)
	}
	s.Range.Release()
	if open := b.opts.Files.Open(); open > 1 {
		t.Fatalf("%d files open after the last reader left", open)
	}
}

func TestTruncateKeepsRangesInFlight(t *testing.T) {
	b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentBytes, o.Config.IndexIntervalBytes = 4000, 200 })
	b.fill(100, 40)
	for _, to := range []kafka.Offset{199, 190, 187, 101, 100, 99, 54, 3} {
		end := b.log.EndOffset()
		from := max(to-6, 0)
		s, err := b.log.Read(from, ReadOptions{MaxBytes: 1 << 20, Upper: end})
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.Range.ReadAll(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.log.Truncate(to); err != nil {
			t.Fatal(err)
		}
		if got, want := b.log.EndOffset(), to&^1; got != want {
			t.Fatalf("truncate to %d: end %d, want %d", to, got, want)
		}
		b.append(plain(2, 77, 1), 0)
		if after, err := s.Range.ReadAll(nil); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("truncate to %d changed bytes that were promised: %v", to, err)
		}
		s.Range.Release()
		first, last := span(t, b.all(500))
		if first != 0 || last+1 != b.log.EndOffset() {
			t.Fatalf("after %d: read %d to %d", to, first, last)
		}
	}
	b.reopen(false)
	span(t, b.all(500))
}

func TestTruncateFullyStartsAt(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	b.fill(10, 10)
	if err := b.log.TruncateFullyAndStartAt(1000); err != nil {
		t.Fatal(err)
	}
	if b.log.StartOffset() != 1000 || b.log.EndOffset() != 1000 || b.log.LatestEpoch() != kafka.NoLeaderEpoch {
		t.Fatalf("start %d end %d", b.log.StartOffset(), b.log.EndOffset())
	}
	b.fill(3, 10)
	b.reopen(false)
	if b.log.StartOffset() != 1000 || b.log.EndOffset() != 1006 {
		t.Fatalf("start %d end %d after reopening", b.log.StartOffset(), b.log.EndOffset())
	}
}

func TestDeleteFreesTheName(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	b.fill(3, 10)
	if err := b.log.Delete(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.fs.Stat(b.opts.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v", err)
	}
	if _, err := b.log.Append(plain(1, 1, 1), 0, AppendInfo{}); !errors.Is(err, ErrClosed) {
		t.Fatalf("append to a deleted log: %v", err)
	}
	list, _ := b.fs.ReadDir("/data")
	if len(list) != 0 {
		t.Fatalf("left behind: %v", list)
	}
	b.open(false)
	if b.log.EndOffset() != 0 {
		t.Fatal("the new log has the old one's data")
	}
}
