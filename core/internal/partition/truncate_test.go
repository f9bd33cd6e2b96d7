package partition

import (
	"errors"
	"testing"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

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

// TestHighWatermarkIsNotBeforeTheStart: a log that begins anew where its leader's does has
// nothing before that which is not committed. It may be elected before it has heard more.
func TestHighWatermarkIsNotBeforeTheStart(t *testing.T) {
	_, p := following(t, nil)
	if _, err := p.takeOver(sent(0, 5), 5, 1, 0); err != nil {
		t.Fatal(err)
	}
	if err := p.TruncateFully(5, 40); err != nil {
		t.Fatal(err)
	}
	if p.StartOffset() != 40 || p.HighWatermark() != 40 || p.EndOffset() != 40 {
		t.Errorf("%d to %d, high watermark %d", p.StartOffset(), p.EndOffset(), p.HighWatermark())
	}
	if _, err := p.takeOver(sent(39, 5), 5, 39, 39); err != nil { // it starts within a batch, and a new leader knows less
		t.Fatal(err)
	}
	if p.StartOffset() != 39 || p.HighWatermark() != 40 || p.EndOffset() != 41 {
		t.Errorf("with the first batch: %d to %d, high watermark %d", p.StartOffset(), p.EndOffset(), p.HighWatermark())
	}
}

// TestBeginsAnewWithinABatch: records were deleted up to the middle of a batch of a leader
// that was not in sync, and the end of a follower's other history lies there. Kafka's
// follower gives such a partition up.
func TestBeginsAnewWithinABatch(t *testing.T) {
	_, p := following(t, nil)
	if _, err := p.takeOver(sent(0, 4), 5, 2, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := p.takeOver(sent(1, 5), 5, 3, 1); !errors.Is(err, ErrBadAnswer) || p.EndOffset() != 2 {
		t.Fatalf("a batch that overlaps what is here, and nothing is deleted: %v, the end is %d", err, p.EndOffset())
	}
	if _, err := p.takeOver(sent(1, 5), 5, 3, 2); err != nil {
		t.Fatal(err)
	}
	if p.StartOffset() != 2 || p.HighWatermark() != 3 || p.EndOffset() != 3 {
		t.Errorf("%d to %d, high watermark %d", p.StartOffset(), p.EndOffset(), p.HighWatermark())
	}
}

// TestStaleTruncationsAreRefused: the role they belong to is over.
func TestStaleTruncationsAreRefused(t *testing.T) {
	c, p := following(t, nil)
	if _, err := p.takeOver(sent(0, 5), 5, 0, 0); err != nil {
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
