package commitlog

import (
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

func TestRollByTimeIsByRecordTimestamps(t *testing.T) {
	b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentMS = 1000 })
	for _, ts := range []int64{5000, 5500, 6000, 6001, 6500, 100} {
		b.append(plain(1, 10, ts), 0)
	}
	var bases []kafka.Offset
	for _, s := range b.log.Segments() {
		bases = append(bases, s.Base)
	}
	if fmt.Sprint(bases) != "[0 3]" {
		t.Fatalf("bases %v, want [0 3]: the first batch's timestamp counts, not the clock", bases)
	}
}

func TestRollByIndexSizeAndOffsetDistance(t *testing.T) {
	b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentIndexBytes, o.Config.IndexIntervalBytes = 80, 0 })
	b.fill(40, 10)
	if n := len(b.log.Segments()); n < 4 {
		t.Fatalf("%d segments: a full index must roll", n)
	}
	far := plain(1, 10, 0)
	far.Assign(b.log.EndOffset()+1<<32, 0)
	a := b.info(far)
	a.Origin = OriginReplication
	if _, err := b.log.Append(far, 0, a); err != nil {
		t.Fatal(err)
	}
	if s := b.log.Segments(); s[len(s)-1].Base != far.BaseOffset() {
		t.Fatalf("active base %d, want %d: offsets must fit into the index", s[len(s)-1].Base, far.BaseOffset())
	}
	b.all(1000)
	b.reopen(false)
	b.all(1000)
}
