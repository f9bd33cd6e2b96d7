package commitlog

import (
	"errors"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// TestCopyTakesTheLogsPlace: the name and the epochs, also one without data, are the
// log's; and it refuses as long as it is behind.
func TestCopyTakesTheLogsPlace(t *testing.T) {
	mem := vfs.NewMem()
	log := newBench(t, mem, nil)
	log.fill(3, 50)
	if err := log.log.AssignEpoch(7, log.log.EndOffset()); err != nil {
		t.Fatal(err)
	}
	copied := newBench(t, mem, func(o *Options) { o.Dir = "/other/t-0.x-future" })
	const to = "/other/t-0"
	if err := copied.log.TakePlace(log.log, to); !errors.Is(err, ErrChanged) {
		t.Fatalf("an empty copy: %v", err)
	}
	copied.fill(3, 50)
	if err := copied.log.TakePlace(log.log, to); err != nil {
		t.Fatal(err)
	}
	if got := copied.log.LatestEpoch(); got != 7 {
		t.Errorf("its latest epoch is %d, want 7", got)
	}
	copied.append(plain(1, 50, 5), 7) // it is used under its new name
	if _, err := copied.log.Sync(); err != nil {
		t.Fatal(err)
	}
	copied.opts.Dir = to
	copied.reopen(true)
	if epoch, end := copied.log.EpochEnd(7); epoch != 7 || end != copied.log.EndOffset() {
		t.Errorf("after it was opened under its new name epoch 7 ends at %d of epoch %d", end, epoch)
	}
}

// TestCommonEnd is where a copy may go on (KIP-101).
func TestCommonEnd(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	b.fill(5, 50)
	end := b.log.EndOffset()
	if err := b.log.AssignEpoch(3, end); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		epoch     kafka.LeaderEpoch
		end, want kafka.Offset
	}{
		{0, end, end}, {0, end - 1, end - 1}, {0, end + 5, end}, {3, end + 5, end}, {kafka.NoLeaderEpoch, end + 5, end}, {2, end + 5, end},
	} {
		if got := b.log.CommonEnd(c.epoch, c.end); got != c.want {
			t.Errorf("epoch %d, end %d: %d, want %d", c.epoch, c.end, got, c.want)
		}
	}
}
