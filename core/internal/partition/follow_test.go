package partition

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// sent is a leader's batch of two records.
func sent(base kafka.Offset, epoch kafka.LeaderEpoch) record.Batch {
	b := batch(1, 2)
	b.Assign(base, epoch)
	return b
}

// following makes copy 2 a follower in epoch 5.
func following(t *testing.T, change func(*config.Topic)) (*copies, *Partition) {
	c := newCopies(t, change)
	c.state.LeaderEpoch = 4
	c.elect(1, three...)
	return c, c.at(2)
}

// TestAnswersThatAreNotAppended, or not as a whole.
func TestAnswersThatAreNotAppended(t *testing.T) {
	damaged := sent(2, 5)
	damaged[len(damaged)-1] ^= 1
	for _, x := range []struct {
		name   string
		answer []byte
		epoch  kafka.LeaderEpoch
		end    kafka.Offset
		err    error
	}{
		{"fits", slices.Concat(sent(0, 3), sent(2, 5)), 5, 4, nil},
		{"ends within a batch", slices.Concat(sent(0, 3), sent(2, 5)[:50]), 5, 2, nil},
		{"a later leader's batches (KAFKA-18723)", slices.Concat(sent(0, 5), sent(2, 6), sent(4, 5)), 5, 2, nil},
		{"damaged", slices.Concat(sent(0, 3), damaged), 5, 2, ErrBadAnswer},
		{"again", slices.Concat(sent(0, 3), sent(0, 3)), 5, 2, ErrBadAnswer},
		{"epochs go back", slices.Concat(sent(0, 3), sent(2, 2)), 5, 2, ErrBadAnswer},
		{"of an earlier fetch", sent(0, 3), 4, 0, ErrStaleRole},
		{"of a later role", sent(0, 3), 6, 0, ErrStaleRole},
		{"nothing", nil, 5, 0, nil},
	} {
		_, p := following(t, nil)
		end, err := p.takeOver(x.answer, x.epoch, 1, 0)
		if end != x.end || p.EndOffset() != x.end || !errors.Is(err, x.err) {
			t.Errorf("%s: end %d, %v; want %d, %v", x.name, end, err, x.end, x.err)
		}
		if x.err == nil && p.HighWatermark() != min(1, x.end) {
			t.Errorf("%s: high watermark %d", x.name, p.HighWatermark())
		}
	}
	c, _ := following(t, nil)
	if _, err := c.at(1).takeOver(sent(0, 5), 5, 0, 0); !errors.Is(err, ErrStaleRole) {
		t.Errorf("the leader appended as a follower: %v", err)
	}
	if err := c.at(2).Delete(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.at(2).takeOver(sent(0, 5), 5, 0, 0); !errors.Is(err, ErrStaleRole) {
		t.Errorf("appended to what is deleted: %v", err)
	}
}

// TestFollowerKeepsWhatItKnows: the high watermark is the leader's as far as the log
// goes, and does not go back when another leader knows less.
func TestFollowerKeepsWhatItKnows(t *testing.T) {
	c, p := following(t, nil)
	hw := func(b []byte, leader, want kafka.Offset) {
		t.Helper()
		_, _, epoch := p.FetchState()
		if _, err := p.takeOver(b, epoch, leader, 0); err != nil || p.HighWatermark() != want {
			t.Fatalf("high watermark %d, %v; want %d", p.HighWatermark(), err, want)
		}
	}
	hw(sent(0, 5), 100, 2)
	hw(sent(2, 5), 3, 3)
	c.elect(3, three...)
	hw(sent(4, 6), 1, 3)
	hw(nil, 100, 6)
}

// TestReadersOfAFollowerAreWoken when the high watermark moves.
func TestReadersOfAFollowerAreWoken(t *testing.T) {
	c, p := following(t, nil)
	if _, err := p.takeOver(sent(0, 5), 5, 0, 0); err != nil {
		t.Fatal(err)
	}
	w := new(woken)
	entries := []purgatory.Entry{{List: p.Waiters(), Seen: p.Waiters().Progress()}}
	if out := c.rigs[2].purg.Park(new(purgatory.Waiter), entries, 1, time.Hour, w); out != purgatory.Parked {
		t.Fatal(out)
	}
	if _, err := p.takeOver(nil, 5, 2, 0); err != nil {
		t.Fatal(err)
	}
	c.rigs[2].purg.Close() // waits for the workers
	if w.n.Load() != 1 {
		t.Error("a reader was not woken")
	}
}

// TestFollowerWithFlushWaitsForTheDisk: its next fetch tells the leader what it has.
func TestFollowerWithFlushWaitsForTheDisk(t *testing.T) {
	_, p := following(t, func(c *config.Topic) { c.FlushMessages = 1 })
	if end, err := p.takeOver(sent(0, 5), 5, 0, 0); end != 2 || err != nil || p.RecoveryPoint() != 2 {
		t.Errorf("end %d, on the disk %d, %v", end, p.RecoveryPoint(), err)
	}
}

// TestEmptyFollowerBeginsInsideABatch: records of the leader's first batch are deleted.
func TestEmptyFollowerBeginsInsideABatch(t *testing.T) {
	c := newCopies(t, nil)
	c.elect(1, 1)
	c.append(1)
	c.append(1)
	if _, code := c.at(1).DeleteRecords(3); code != kafka.None {
		t.Fatal(code)
	}
	c.catchUp(2)
	if p := c.at(2); p.StartOffset() != 3 || p.EndOffset() != 4 || p.HighWatermark() != 4 {
		t.Errorf("%d to %d, high watermark %d", p.StartOffset(), p.EndOffset(), p.HighWatermark())
	}
}
