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
	"github.com/mortisemq/mortise/core/vfs"
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
		end, err := p.AppendAsFollower(x.answer, x.epoch, 1, 0)
		if end != x.end || p.EndOffset() != x.end || !errors.Is(err, x.err) {
			t.Errorf("%s: end %d, %v; want %d, %v", x.name, end, err, x.end, x.err)
		}
		if x.err == nil && p.HighWatermark() != min(1, x.end) {
			t.Errorf("%s: high watermark %d", x.name, p.HighWatermark())
		}
	}
	c, _ := following(t, nil)
	if _, err := c.at(1).AppendAsFollower(sent(0, 5), 5, 0, 0); !errors.Is(err, ErrStaleRole) {
		t.Errorf("the leader appended as a follower: %v", err)
	}
	if err := c.at(2).Delete(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.at(2).AppendAsFollower(sent(0, 5), 5, 0, 0); !errors.Is(err, ErrStaleRole) {
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
		if _, err := p.AppendAsFollower(b, epoch, leader, 0); err != nil || p.HighWatermark() != want {
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
	if _, err := p.AppendAsFollower(sent(0, 5), 5, 0, 0); err != nil {
		t.Fatal(err)
	}
	w := new(woken)
	entries := []purgatory.Entry{{List: p.Waiters(), Seen: p.Waiters().Progress()}}
	if out := c.rigs[2].purg.Park(new(purgatory.Waiter), entries, 1, time.Hour, w); out != purgatory.Parked {
		t.Fatal(out)
	}
	if _, err := p.AppendAsFollower(nil, 5, 2, 0); err != nil {
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
	if end, err := p.AppendAsFollower(sent(0, 5), 5, 0, 0); end != 2 || err != nil || p.RecoveryPoint() != 2 {
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

// TestKIP101DivergedFollower: what the next leader does not have goes, whatever the high
// watermark was, and epochs without records go, too.
func TestKIP101DivergedFollower(t *testing.T) {
	c := newCopies(t, nil)
	c.elect(1, three...)
	c.append(1)
	c.catchUp(2, 3)
	c.append(1) // offsets 2 and 3 are only on 1
	c.elect(2, 2, 3)
	c.append(1) // and 2 has other ones there
	c.append(1)
	c.elect(3, 3) // and 3 leads without any
	c.append(1)
	c.append(1)
	c.append(1)
	c.catchUp(1, 2)
	c.same()
	c.expect(1, 8, 8)
	c.expect(2, 8, 8)
	if end, last, _ := c.at(2).FetchState(); end != 8 || last != 3 {
		t.Errorf("2 ends at %d with epoch %d", end, last)
	}
	// A leader without records: its epoch is nobody else's.
	c.elect(1, three...)
	c.elect(2, three...)
	c.append(1)
	c.catchUp(1, 3)
	c.same()
	if epoch, end := c.at(1).Log().EpochEnd(4); epoch != 3 || end != 8 {
		t.Errorf("1 keeps an epoch that has no records: %d to %d", epoch, end)
	}
}

// TestWipedLeaderFollows: a broker that comes back with an empty disk first takes the
// role that it had, which is over: the epoch of that is not one of its records.
func TestWipedLeaderFollows(t *testing.T) {
	c := newCopies(t, nil)
	c.elect(1, 1, 2)
	c.append(1)
	c.elect(1, 1, 2)
	c.append(1)
	c.catchUp(2)
	c.rigs[1] = newRig(t, vfs.NewMem(), nil)
	c.tell(1)
	if _, last, _ := c.at(1).FetchState(); last != 2 {
		t.Fatalf("it leads with epoch %d", last)
	}
	c.elect(2, 2)
	if _, last, _ := c.at(1).FetchState(); last != kafka.NoLeaderEpoch {
		t.Fatalf("it has nothing, and fetches with epoch %d", last)
	}
	c.catchUp(1, 3)
	c.same()
}

// TestNeverTruncatesToTheHighWatermark: a follower that is elected before it has heard
// that its records are committed still has them.
func TestNeverTruncatesToTheHighWatermark(t *testing.T) {
	c := newCopies(t, min2)
	c.elect(1, 1, 2)
	w := c.wait(c.append(AllReplicas), NoLimit)
	for range 2 {
		if err := c.pull(2); err != nil {
			t.Fatal(err)
		}
	}
	w.expect(t, kafka.None)
	c.at(2).mu.Lock()
	c.at(2).hw.Store(0) // the answer that told of it was lost
	c.at(2).mu.Unlock()
	c.elect(3, 3) // it follows somebody who has nothing, but does not hear of it
	c.elect(2, 2)
	c.expect(2, 2, 0) // one of two that must be in sync
	c.at(2).SetConfig(c.rigs[1].p.config.Load())
	c.state.ISR = []kafka.BrokerID{2}
	c.catchUp(1)
	c.decide()
	c.expect(2, 2, 2)
}

// TestUncleanLeader: followers go back below what was committed, and say so in their
// high watermark.
func TestUncleanLeader(t *testing.T) {
	c := newCopies(t, nil)
	c.elect(1, 1, 2)
	c.append(1)
	c.append(1)
	c.catchUp(2)
	c.expect(2, 4, 4)
	c.elect(3, 3) // it has nothing
	c.append(1)
	c.catchUp(1, 2)
	c.same()
	c.expect(1, 2, 2)
	c.expect(2, 2, 2)
}

// TestLeaderThatStartsLater: a follower that was away too long begins anew.
func TestLeaderThatStartsLater(t *testing.T) {
	c := newCopies(t, func(c *config.Topic) { c.SegmentBytes = 100 })
	c.unfit[3] = true
	c.elect(1, 1, 2)
	c.append(1)
	c.catchUp(2, 3)
	c.append(1)
	c.append(1)
	c.catchUp(2)
	if _, code := c.at(1).DeleteRecords(4); code != kafka.None {
		t.Fatal(code)
	}
	c.append(1)
	c.catchUp(2, 3)
	for _, id := range three {
		if p := c.at(id); p.StartOffset() != 4 || p.EndOffset() != 8 || p.HighWatermark() != 8 {
			t.Errorf("%d: %d to %d, high watermark %d", id, p.StartOffset(), p.EndOffset(), p.HighWatermark())
		}
	}
	c.same()
}

// TestStaleTruncationsAreRefused: the role they belong to is over.
func TestStaleTruncationsAreRefused(t *testing.T) {
	c, p := following(t, nil)
	if _, err := p.AppendAsFollower(sent(0, 5), 5, 0, 0); err != nil {
		t.Fatal(err)
	}
	c.elect(2, 2)
	for _, epoch := range []kafka.LeaderEpoch{5, 6} {
		if err := p.TruncateForDivergence(epoch, 0, 0); !errors.Is(err, ErrStaleRole) {
			t.Errorf("truncation of epoch %d: %v", epoch, err)
		}
		if err := p.TruncateFully(epoch, 0); !errors.Is(err, ErrStaleRole) {
			t.Errorf("full truncation of epoch %d: %v", epoch, err)
		}
	}
	if p.EndOffset() != 2 {
		t.Errorf("the leader's log ends at %d", p.EndOffset())
	}
	c.elect(1, 1)
	if err := p.TruncateForDivergence(7, 0, -1); err == nil || p.EndOffset() != 2 {
		t.Errorf("truncated to nowhere: %v", err)
	}
}

func TestReplicationAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("pools drop items at random")
	}
	c := newCopiesOn(t, vfs.OS, func(c *config.Topic) { c.SegmentBytes = 1 << 30 })
	c.elect(1, 1, 2)
	a := &Append{Acks: AllReplicas, Version: 9}
	proto := batch(1, 2, 3)
	a.Batch = append(record.Batch(nil), proto...)
	buf := make([]byte, 0, 1<<16)
	w := &ignored{}
	round := func() {
		copy(a.Batch, proto)
		done := c.at(1).Append(a)
		c.at(1).AwaitWithin(Wait{UpTo: done.Await, Epoch: done.Epoch, All: true, Limit: NoLimit}, w)
		for range 2 {
			buf = c.carry(2, buf)
		}
	}
	round()
	w.n = 0
	if n := testing.AllocsPerRun(200, round); n != 0 {
		t.Errorf("%v allocations for a batch on its way, want 0", n)
	}
	if w.n != 201 {
		t.Errorf("%d answers to 201 appends", w.n)
	}
}

// ignored counts how often it is told.
type ignored struct{ n int }

func (w *ignored) Synced(error) { w.n++ }
