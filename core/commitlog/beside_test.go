package commitlog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// beside is a log of small segments whose disk calls f, once, before the first
// operation that matches.
func beside(t *testing.T, match func(vfs.Op) bool, f func(*bench)) *bench {
	t.Helper()
	disk := vfs.NewMem()
	b := newBench(t, disk, func(o *Options) { o.Config.SegmentBytes, o.Config.FileDeleteDelayMS = 400, 1000 })
	b.fill(12, 50)
	if n := len(b.log.Segments()); n < 4 {
		t.Fatalf("%d segments, want at least 4", n)
	}
	called := false
	disk.OnOp(func(op vfs.Op) {
		if !called && match(op) {
			called = true
			f(b)
		}
	})
	t.Cleanup(func() {
		if !called {
			t.Error("the operation to act at never came")
		}
	})
	return b
}

// TestReadBesideATruncation holds that a reader of what is cut off gets its answer
// at once, and does not spin until the disk is done.
func TestReadBesideATruncation(t *testing.T) {
	for name, cut := range map[string]func(*Log) error{
		"truncate":   func(l *Log) error { return l.Truncate(3) },
		"start over": func(l *Log) error { return l.TruncateFullyAndStartAt(100) },
	} {
		synced := func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir }
		b := beside(t, synced, func(b *bench) {
			if s, err := b.log.Read(20, ReadOptions{MaxBytes: 1000, Upper: 24}); !errors.Is(err, ErrOffsetOutOfRange) {
				t.Errorf("%s: a read of what is cut off: %+v %v", name, s, err)
			}
		})
		if err := cut(b.log); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAppendBesideARemoval holds that appends do not wait while the disk frees the
// space of a large file.
func TestAppendBesideARemoval(t *testing.T) {
	removed := func(op vfs.Op) bool { return op.Kind == vfs.OpRemove && strings.HasSuffix(op.Name, ".log.deleted") }
	b := beside(t, removed, func(b *bench) { b.fill(1, 10) })
	if err := b.log.DeleteOldest(2, b.log.Segments()[1].Next, "test"); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(2 * time.Second)
	entries, err := b.fs.ReadDir(b.opts.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".deleted") {
			t.Errorf("%s was not removed", e.Name())
		}
	}
}

// TestLateUsersOfALogThatIsGone holds that who still has a log after its end is told
// so, does not make it a failed one, and leaves no file open.
func TestLateUsersOfALogThatIsGone(t *testing.T) {
	for name, end := range map[string]func(*Log) error{
		"close":  func(l *Log) error { return l.Close(false) },
		"delete": (*Log).Delete,
	} {
		count := vfs.NewCounting(vfs.NewMem())
		b := newBench(t, count, func(o *Options) { o.Config.SegmentBytes = 400 })
		b.fill(12, 50)
		if err := end(b.log); err != nil {
			t.Fatal(err)
		}
		for what, use := range map[string]func() error{
			"read":      func() error { _, err := b.log.Read(0, ReadOptions{MaxBytes: 1000, Upper: 24}); return err },
			"sync":      func() error { _, err := b.log.Sync(); return err },
			"timestamp": func() error { _, _, err := b.log.OffsetForTimestamp(3, kafka.Offset(24)); return err },
			"latest":    func() error { _, _, err := b.log.MaxTimestampOffset(24); return err },
		} {
			if err := use(); !errors.Is(err, ErrClosed) {
				t.Errorf("%s after %s: %v, want ErrClosed", what, name, err)
			}
		}
		if open := count.OpenFiles(); len(open) != 0 {
			t.Errorf("after %s files are open: %v", name, open)
		}
	}
}

// abort appends a transactional batch of producer 1 and its abort marker.
func (b *bench) abort() {
	b.t.Helper()
	o := record.PlainOptions(record.None)
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = 1, 0, 0, true
	data := record.NewBuilder(o)
	data.Append(5, nil, []byte("aborted"), nil)
	b.append(data.Bytes(), 0)
	marker := record.EndTxnMarker{Type: record.ControlAbort, ProducerID: 1}.Batch()
	info := b.info(marker)
	info.Origin = OriginCoordinator
	if _, err := b.log.Append(marker, 0, info); err != nil {
		b.t.Fatal(err)
	}
}

// TestCommittedReadBesideADeletion holds that no reader of committed data gets
// aborted data unmarked because its segment goes away under the read.
func TestCommittedReadBesideADeletion(t *testing.T) {
	disk := vfs.NewMem()
	b := newBench(t, disk, func(o *Options) { o.Config.SegmentBytes = 400 })
	b.abort()
	b.fill(12, 50)
	b.reopen(true) // the .txnindex is not in memory then
	deleted := false
	disk.OnOp(func(op vfs.Op) {
		if !deleted && op.Kind == vfs.OpOpen && strings.HasSuffix(op.Name, ".txnindex") {
			deleted = true
			if err := b.log.DeleteOldest(1, b.log.Segments()[0].Next, "test"); err != nil {
				t.Error(err)
			}
		}
	})
	o := ReadOptions{MaxBytes: 1000, Upper: b.log.EndOffset()}
	s, aborted, err := b.log.ReadCommitted(0, o)
	if !errors.Is(err, ErrOffsetOutOfRange) || !deleted {
		t.Errorf("the segment went away (%v): %+v with %v, %v; want that the offset is out of range", deleted, s, aborted, err)
	}
}

func TestCommittedReadTellsWhatWasAborted(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	b.abort()
	b.reopen(true)
	s, aborted, err := b.log.ReadCommitted(0, ReadOptions{MaxBytes: 1000, Upper: b.log.EndOffset()})
	if err != nil || s.Range == nil || len(aborted) != 1 || aborted[0].ProducerID != 1 || aborted[0].FirstOffset != 0 || aborted[0].LastOffset != 1 {
		t.Fatalf("%+v with %+v, %v", s, aborted, err)
	}
	s.Range.Release()
	if s, aborted, err = b.log.ReadCommitted(2, ReadOptions{MaxBytes: 1000, Upper: b.log.EndOffset()}); err != nil || s.Range != nil || aborted != nil {
		t.Errorf("at the end: %+v with %+v, %v", s, aborted, err)
	}
}
