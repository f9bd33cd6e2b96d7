package partition

import (
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// TestTooFewInSync: acks=all is refused before anything is appended, and what others
// append is not visible (KIP-966).
func TestTooFewInSync(t *testing.T) {
	c := newCopies(t, min2)
	c.elect(1, 1, 2, 3)
	c.append(1)
	c.catchUp(2, 3)
	w := c.wait(c.append(AllReplicas), NoLimit)
	c.rigs[1].clock.Advance(31 * time.Second)
	c.at(1).CheckISR(c.rigs[1].clock.Now())
	c.decide()
	w.expect(t)
	if out := c.rigs[1].append(AllReplicas, batch(1)); out.Code != kafka.ErrNotEnoughReplicas || c.at(1).EndOffset() != 4 {
		t.Fatalf("acks=all with one in sync: %s, end %d", out.Code, c.at(1).EndOffset())
	}
	c.append(1)
	c.expect(1, 6, 2)
	for range 2 { // 2 comes back and has everything
		if err := c.pull(2); err != nil {
			t.Fatal(err)
		}
	}
	c.expect(1, 6, 2)
	w.expect(t)
	c.decide()
	c.expect(1, 6, 6)
	w.expect(t, kafka.None)
}

// TestISRIsAskedFor: who lags leaves, who has caught up joins; one change at a time, and
// every kind of answer.
func TestISRIsAskedFor(t *testing.T) {
	c := newCopies(t, nil)
	c.elect(1, 1, 2, 3)
	c.append(1)
	c.catchUp(2, 3)
	c.rigs[1].clock.Advance(31 * time.Second)
	c.at(1).CheckISR(c.rigs[1].clock.Now())
	if len(c.asked) != 0 {
		t.Fatal("who has everything lags")
	}
	c.append(1)
	c.catchUp(2)
	c.at(1).CheckISR(c.rigs[1].clock.Now())
	if len(c.asked) != 1 || len(c.asked[0].ISR) != 2 || c.asked[0].LeaderEpoch != 1 || c.asked[0].PartitionEpoch != 1 || !c.asked[0].Recovered {
		t.Fatalf("asked for %+v", c.asked)
	}
	if want := (meta.ISRReplica{ID: 2, Epoch: 20}); c.asked[0].ISR[1] != want {
		t.Errorf("asked for %+v, want %+v", c.asked[0].ISR[1], want)
	}
	c.expect(1, 4, 2) // 3 holds it until the cluster has agreed
	change := c.asked[0]
	c.at(1).CheckISR(c.rigs[1].clock.Now())
	if len(c.asked) != 1 {
		t.Fatal("asked twice")
	}
	answer := func(code kafka.ErrorCode) bool {
		t.Helper()
		return c.at(1).ISRAnswered(change, meta.ISRResult{Err: code.Err("")})
	}
	for _, unknown := range []kafka.ErrorCode{kafka.ErrNotController, kafka.ErrNetworkException, kafka.ErrRequestTimedOut, kafka.ErrStaleBrokerEpoch} {
		if !answer(unknown) {
			t.Errorf("%s is not asked again", unknown)
		}
	}
	if answer(kafka.ErrInvalidUpdateVersion) || answer(kafka.ErrFencedLeaderEpoch) {
		t.Error("who is behind asks again instead of waiting for the image")
	}
	c.at(1).CheckISR(c.rigs[1].clock.Now())
	if len(c.asked) != 1 {
		t.Fatal("asked while it is not known what became of it")
	}
	if answer(kafka.ErrIneligibleReplica) {
		t.Error("a refusal is asked again")
	}
	c.asked = nil
	c.at(1).CheckISR(c.rigs[1].clock.Now())
	c.decide()
	c.expect(1, 4, 4)
	if r := c.at(1).Role(); len(r.ISR) != 2 || r.PartitionEpoch != 2 || c.at(1).ReplicaInSync(3) || !c.at(1).ReplicaInSync(2) {
		t.Errorf("role %+v", r)
	}

	c.rigs[1].clock.Advance(refusedPause)
	c.unfit[3] = true
	c.catchUp(3)
	if len(c.asked) != 0 {
		t.Fatal("a fenced broker is to join")
	}
	c.unfit[3] = false
	c.catchUp(3)
	if len(c.asked) != 1 || len(c.asked[0].ISR) != 3 {
		t.Fatalf("asked for %+v", c.asked)
	}
	// Refused, it does not ask with every fetch.
	if c.at(1).ISRAnswered(c.asked[0], meta.ISRResult{Err: kafka.ErrIneligibleReplica.Err("")}) {
		t.Error("a refusal is asked again")
	}
	c.asked = nil
	c.catchUp(3)
	if len(c.asked) != 0 {
		t.Error("asks again at once")
	}
	c.rigs[1].clock.Advance(refusedPause)
	c.catchUp(3)
	if len(c.asked) != 1 {
		t.Fatal("does not ask again")
	}
	// The image is faster than the answer.
	late := c.asked[0]
	c.state.ISR, c.state.PartitionEpoch = three, 3
	c.tell(1)
	c.state.ISR, c.state.PartitionEpoch = []kafka.BrokerID{1, 2}, 2
	c.tell(1) // an older one, which came late
	if r := c.at(1).Role(); len(r.ISR) != 3 {
		t.Fatalf("role %+v", r)
	}
	if c.at(1).ISRAnswered(late, meta.ISRResult{Err: kafka.ErrNotController.Err("")}) {
		t.Error("a change that an image has settled is asked for again")
	}
}

// TestLowWatermark is the least start of those who are there (KIP-107).
func TestLowWatermark(t *testing.T) {
	c := newCopies(t, nil)
	c.elect(1, 1, 2, 3)
	c.append(1)
	c.append(1)
	if got := c.at(1).LowWatermark(); got != kafka.NoOffset {
		t.Errorf("before anybody was heard of: %d", got)
	}
	c.catchUp(2, 3)
	if low, code := c.at(1).DeleteRecords(2); low != 2 || code != kafka.None {
		t.Fatal(low, code)
	}
	if got := c.at(1).LowWatermark(); got != 0 {
		t.Errorf("before they have heard of it: %d", got)
	}
	c.append(1)
	c.catchUp(2, 3)
	if got := c.at(1).LowWatermark(); got != 2 || c.at(2).StartOffset() != 2 {
		t.Errorf("afterwards: %d, the follower's start is %d", got, c.at(2).StartOffset())
	}
}

// TestOneCopyBecomesThree, and one again, within a leader epoch: a reassignment.
func TestOneCopyBecomesThree(t *testing.T) {
	c := newCopies(t, min2)
	c.state.Replicas = three[:1]
	c.elect(1, 1)
	c.append(AllReplicas)
	c.expect(1, 2, 2)
	c.state.Replicas, c.state.PartitionEpoch = three, c.state.PartitionEpoch+1
	for _, id := range three {
		c.tell(id)
	}
	c.append(1)
	c.expect(1, 4, 2) // now two must have it
	c.catchUp(2)
	c.decide()
	w := c.wait(c.append(AllReplicas), NoLimit)
	c.catchUp(2)
	w.expect(t, kafka.None)
	c.catchUp(3)
	c.decide()
	w = c.wait(c.append(AllReplicas), NoLimit)
	w.expect(t)
	c.state.Replicas, c.state.ISR = three[:1], three[:1]
	c.state.PartitionEpoch++
	c.tell(1)
	w.expect(t, kafka.None)
	c.expect(1, 8, 8)
	if out := c.append(AllReplicas); out.Await != kafka.NoOffset {
		t.Errorf("the only copy waits up to %d", out.Await)
	}
}
