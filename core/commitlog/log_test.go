package commitlog

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

func TestEmptyLogIsAFolderAndMetadata(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	if got := b.names(); got != "partition.metadata" {
		t.Fatalf("files %q: an idle partition must cost nothing more", got)
	}
	if err := b.log.AssignEpoch(2, 0); err != nil {
		t.Fatal(err)
	}
	if e, end := b.log.EpochEnd(2); b.log.LatestEpoch() != 2 || e != 2 || end != 0 {
		t.Fatalf("latest epoch %d, epoch %d ends at %d: one without data must be known", b.log.LatestEpoch(), e, end)
	}
	b.reopen(true)
	if got := b.names(); got != "partition.metadata" {
		t.Fatalf("files %q: an epoch without data must cost nothing on disk", got)
	}
	if b.log.EndOffset() != 0 {
		t.Fatalf("an empty log ends at %d", b.log.EndOffset())
	}
	if _, s := b.read(0, ReadOptions{MaxBytes: 1 << 20, Upper: 100}); s.Range != nil || s.Next != 0 {
		t.Fatalf("%+v from an empty log", s)
	}
}

func TestSegmentsTellRetentionBothTimes(t *testing.T) { // LOG-19
	b := newBench(t, vfs.NewMem(), nil)
	const year2200 = 7_258_118_400_000
	b.append(plain(1, 10, year2200), 0)
	b.clock.Advance(time.Hour)
	b.append(plain(1, 10, 5), 0)
	want := clock.Millis(b.clock.Now())
	if err := b.log.Roll(); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Hour)
	s := b.log.Segments()[0]
	if s.MaxTimestamp != year2200 || s.LastModified.UnixMilli() != want || s.Next != 2 || s.Active {
		t.Fatalf("%+v: want both the record's and the broker's time", s)
	}
}

func TestTopicIDMustMatch(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	b.fill(1, 10)
	if err := b.log.Close(true); err != nil {
		t.Fatal(err)
	}
	o := b.opts
	o.TopicID = kafka.TopicID{2}
	if _, err := Open(context.Background(), o); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("opened the log of another topic: %v", err)
	}
}
