package partition

import (
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// FuzzAppendAsFollower gives a follower any bytes for a leader's answer: it appends a
// prefix that is whole batches which follow each other, says so, or refuses.
func FuzzAppendAsFollower(f *testing.F) {
	f.Add([]byte(nil), int64(0), int64(0))
	f.Add([]byte(slices.Concat(sent(0, 1), sent(2, 1))), int64(3), int64(1))
	f.Add([]byte(slices.Concat(sent(5, 0), sent(2, 1))), int64(-1), int64(9))
	f.Add([]byte(sent(0, 2)[:70]), int64(1<<62), int64(1<<62))
	c := newCopies(f, nil)
	c.elect(1, three...)
	p := c.at(2)
	f.Fuzz(func(t *testing.T, answer []byte, hw, start int64) {
		c.t = t
		if err := p.TruncateFully(1, 0); err != nil {
			t.Fatal(err)
		}
		end, _ := p.takeOver(slices.Clone(answer), 1, kafka.Offset(hw), kafka.Offset(start))
		if p.Offline() != nil {
			t.Fatalf("the answer %x took the directory offline: %v", answer, p.Offline())
		}
		if p.StartOffset() > p.HighWatermark() || p.HighWatermark() > end || end != p.EndOffset() {
			t.Fatalf("start %d, high watermark %d, end %d", p.StartOffset(), p.HighWatermark(), end)
		}
		at := kafka.Offset(0)
		for _, b := range batchesIn(t, c.bytesOf(2, end)) {
			if b.BaseOffset() < at || b.LeaderEpoch() > 1 || b.CheckCRC() != nil {
				t.Fatalf("batch at %d of epoch %d behind %d", b.BaseOffset(), b.LeaderEpoch(), at)
			}
			at = b.NextOffset()
		}
	})
}
