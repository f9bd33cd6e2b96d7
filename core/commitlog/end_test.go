package commitlog

import (
	"context"
	"errors"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// TestEndSurvivesTheLastData holds that a log whose data are all gone goes on where
// it ended when the process is killed before a checkpoint. Otherwise offsets would
// be given twice.
func TestEndSurvivesTheLastData(t *testing.T) {
	for name, empty := range map[string]func(*Log) error{
		"retention": func(l *Log) error {
			return errors.Join(l.Roll(), l.DeleteOldest(len(l.Segments())-1, l.EndOffset(), "test"))
		},
		"records": func(l *Log) error { return errors.Join(l.Roll(), l.SetStartOffset(l.EndOffset())) },
		"start over": func(l *Log) error {
			return l.TruncateFullyAndStartAt(l.EndOffset())
		},
	} {
		b := newBench(t, vfs.NewMem(), nil)
		b.fill(5, 10)
		end := b.log.EndOffset()
		if err := empty(b.log); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := b.log.Close(false); err != nil {
			t.Fatal(err)
		}
		b.open(false) // with the checkpoints of an empty log
		if got := b.log.EndOffset(); got != end || b.log.StartOffset() != end {
			t.Errorf("%s: the log has %d to %d after a kill, want %d to %d", name, b.log.StartOffset(), got, end, end)
		}
	}
}

// TestTopicIDIsDurableWithTheFirstSync holds that data which were promised to
// survive a power failure can be told from another topic's.
func TestTopicIDIsDurableWithTheFirstSync(t *testing.T) {
	disk := vfs.NewMem()
	if err := errors.Join(disk.MkdirAll("/data", 0o755), disk.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, disk, nil)
	b.append(plain(1, 10, 1), 1)
	if _, err := b.log.Sync(); err != nil {
		t.Fatal(err)
	}
	o := b.opts
	o.FS = disk.Crash(vfs.CrashOptions{})
	if raw, err := vfs.ReadFile(o.FS, o.Dir+"/"+metadataFile, metadataFileMax); err != nil || len(raw) == 0 {
		t.Fatalf("the topic id is %q, %v", raw, err)
	}
	o.TopicID = kafka.TopicID{2}
	if _, err := Open(context.Background(), o); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("opened as another topic's: %v", err)
	}
}

// TestFailedLogIsNotClosedClean holds that a log which failed says so when it is
// closed: its owner must not mark it clean.
func TestFailedLogIsNotClosedClean(t *testing.T) {
	var s errorfs.Switch
	b := newBench(t, errorfs.New(vfs.NewMem(), s.Inject), nil)
	b.fill(3, 10)
	s.On(errorfs.Kinds(vfs.OpSyncData), errors.New("broken"))
	if _, err := b.log.Sync(); !errors.Is(err, ErrStorage) {
		t.Fatalf("%v", err)
	}
	s.Off()
	if err := b.log.Close(true); !errors.Is(err, ErrStorage) {
		t.Fatalf("closed clean after a failed sync: %v", err)
	}
}
