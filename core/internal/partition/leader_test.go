package partition

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/isr"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/vfs"
)

// wait has a wait for all replicas begin.
func (c *copies) wait(out Appended, limit time.Duration) *told {
	w := &told{}
	c.at(c.state.Leader).AwaitWithin(Wait{UpTo: out.Await, Epoch: out.Epoch, All: true, Limit: limit}, w)
	return w
}

func min2(c *config.Topic) { c.MinInsyncReplicas = 2 }

// TestAllReplicasHaveIt: acks=all is answered when every replica that is in sync has
// the records, acks=1 at once; readers see them then, followers before.
func TestAllReplicasHaveIt(t *testing.T) {
	c := newCopies(t, min2)
	c.elect(1, 1, 2, 3)
	if out := c.append(1); out.Await != kafka.NoOffset {
		t.Fatalf("acks=1 waits up to %d", out.Await)
	}
	out := c.append(AllReplicas)
	if out.Await != 4 || out.Epoch != 1 {
		t.Fatalf("acks=all waits up to %d in epoch %d, want 4 in 1", out.Await, out.Epoch)
	}
	w := c.wait(out, time.Minute)
	for range 2 {
		if err := c.pull(2); err != nil {
			t.Fatal(err)
		}
		w.expect(t)
	}
	if err := c.pull(3); err != nil { // fetches the records
		t.Fatal(err)
	}
	c.expect(1, 4, 0)
	w.expect(t)
	if err := c.pull(3); err != nil { // and says that it has them
		t.Fatal(err)
	}
	w.expect(t, kafka.None)
	c.expect(1, 4, 4)
	c.expect(3, 4, 4) // with the answer to this very fetch
	c.expect(2, 4, 0)
	c.catchUp(2, 3)
	c.same()
	if out, n := c.rigs[2].fetch(anyEpoch(0)); out.Code != kafka.ErrNotLeaderOrFollower {
		t.Errorf("a consumer of a follower: %s, %d bytes", out.Code, n)
	}
	near := anyEpoch(0)
	near.Anywhere = true // KIP-392
	if out, n := c.rigs[2].fetch(near); out.Code != kafka.None || n == 0 || out.HighWatermark != 4 {
		t.Errorf("a consumer of a close follower: %s, %d bytes", out.Code, n)
	}
}

// TestWaitsEndInOtherWays than with all replicas.
func TestWaitsEndInOtherWays(t *testing.T) {
	begin := func(t *testing.T) (*copies, *told) {
		c := newCopies(t, min2)
		c.elect(1, 1, 2, 3)
		return c, c.wait(c.append(AllReplicas), time.Second)
	}
	t.Run("another leader", func(t *testing.T) {
		c, w := begin(t)
		c.elect(2, 2, 3)
		w.expect(t, kafka.ErrNotLeaderOrFollower)
	})
	t.Run("time is over", func(t *testing.T) {
		c, w := begin(t)
		late := c.wait(c.append(AllReplicas), 3*time.Second)
		soon := c.wait(c.append(AllReplicas), 500*time.Millisecond)
		ever := c.wait(c.append(AllReplicas), NoLimit)
		for range 5 {
			c.rigs[1].clock.Advance(500 * time.Millisecond)
		}
		w.expect(t, kafka.ErrRequestTimedOut)
		soon.expect(t, kafka.ErrRequestTimedOut)
		late.expect(t)
		c.rigs[1].clock.Advance(time.Second)
		late.expect(t, kafka.ErrRequestTimedOut)
		c.rigs[1].clock.Advance(time.Hour)
		c.catchUp(2, 3)
		ever.expect(t, kafka.None)
		w.expect(t, kafka.ErrRequestTimedOut) // told once
	})
	t.Run("the disk fails", func(t *testing.T) {
		c, w := begin(t)
		c.at(1).Dir().Failed("test", syscall.EIO)
		w.expect(t, kafka.ErrKafkaStorageError)
	})
	t.Run("the broker stops", func(t *testing.T) {
		c, w := begin(t)
		c.at(1).parts.Stop()
		c.at(1).EndWaits()
		w.expect(t, kafka.ErrNotLeaderOrFollower)
		c.wait(c.append(AllReplicas), time.Minute).expect(t, kafka.ErrNotLeaderOrFollower)
	})
	t.Run("the topic is deleted", func(t *testing.T) {
		c, w := begin(t)
		if err := c.at(1).Delete(); err != nil {
			t.Fatal(err)
		}
		w.expect(t, kafka.ErrNotLeaderOrFollower)
	})
	t.Run("the epoch it was appended in is over", func(t *testing.T) {
		c, _ := begin(t)
		out := c.append(AllReplicas)
		c.elect(2, 2, 3)
		c.elect(1, 1, 2, 3)
		c.wait(out, time.Second).expect(t, kafka.ErrNotLeaderOrFollower)
	})
	t.Run("the same leader in the next epoch", func(t *testing.T) {
		c, w := begin(t)
		c.elect(1, 1, 2, 3)
		w.expect(t)
		c.catchUp(2, 3)
		w.expect(t, kafka.None)
	})
	t.Run("more must be in sync by now", func(t *testing.T) {
		c, w := begin(t)
		c.catchUp(2)
		if err := c.pull(3); err != nil {
			t.Fatal(err)
		}
		// The high watermark gets there, and min.insync.replicas rises before anybody is
		// told: only a flush can hold a wait up that long.
		c.at(1).mu.Lock()
		c.at(1).awaits[0].flush = 2
		c.at(1).mu.Unlock()
		if err := c.pull(3); err != nil {
			t.Fatal(err)
		}
		w.expect(t)
		topic := c.rigs[1].topic
		topic.MinInsyncReplicas = 3
		c.state.ISR, c.state.PartitionEpoch = []kafka.BrokerID{1, 2}, c.state.PartitionEpoch+1
		c.tell(1)
		c.at(1).SetConfig(NewConfig(&topic, 1))
		if _, err := (*flusher)(c.at(1).at()).Sync(); err != nil {
			t.Fatal(err)
		}
		w.expect(t, kafka.ErrNotEnoughReplicasAfterAppend)
	})
}

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

// TestReplicaFetchIsChecked as Kafka does it.
func TestReplicaFetchIsChecked(t *testing.T) {
	c := newCopies(t, nil)
	c.elect(1, 1, 2, 3)
	c.append(1)
	c.elect(1, 1, 2, 3)
	c.append(1)
	if start, end, in := c.at(1).FollowerAt(2); start != kafka.NoOffset || end != kafka.NoOffset || !in {
		t.Errorf("before its first fetch 2 is at %d-%d", start, end)
	}
	for _, x := range []struct {
		name   string
		change func(*Fetch)
		code   kafka.ErrorCode
		bytes  bool
		heard  bool
	}{
		{"all of it", func(*Fetch) {}, kafka.None, true, true},
		{"another broker", func(q *Fetch) { q.Replica = 4 }, kafka.ErrNotLeaderOrFollower, false, false},
		{"started anew since", func(q *Fetch) { q.ReplicaEpoch = 19 }, kafka.ErrNotLeaderOrFollower, false, false},
		{"an epoch ago", func(q *Fetch) { q.Epoch = 1 }, kafka.ErrFencedLeaderEpoch, false, false},
		{"an epoch ahead", func(q *Fetch) { q.Epoch = 3 }, kafka.ErrUnknownLeaderEpoch, false, false},
		{"behind the end", func(q *Fetch) { q.From = 5 }, kafka.ErrOffsetOutOfRange, false, false},
		{"another history", func(q *Fetch) { q.From, q.LastEpoch = 3, 1 }, kafka.None, false, false},
		{"once more", func(q *Fetch) { q.From, q.Again = 4, true }, kafka.None, false, false},
		{"at the end", func(q *Fetch) { q.From, q.LastEpoch = 4, 2 }, kafka.None, false, true},
	} {
		q := c.request(2)
		q.From, q.LastEpoch, q.Epoch = 0, kafka.NoLeaderEpoch, 2
		x.change(q)
		c.at(1).mu.Lock()
		c.at(1).followers.Progress(isr.Position{ID: 2, Epoch: 20, End: 1}, 4, c.rigs[1].clock.Now()) // anything else than what is asked for
		c.at(1).mu.Unlock()
		out, records := c.ask(q)
		_, end, _ := c.at(1).FollowerAt(2)
		if out.Code != x.code || (len(records) > 0) != x.bytes || (end == q.From) != x.heard {
			t.Errorf("%s: %s, %d bytes, known to have %d", x.name, out.Code, len(records), end)
		}
		if x.name == "another history" && (out.DivergingEpoch != 1 || out.DivergingEnd != 2) {
			t.Errorf("diverges at %d of epoch %d", out.DivergingEnd, out.DivergingEpoch)
		}
	}
	c.at(1).parts.ProposeISR = nil
	c.elect(2, 2)
	var out Fetched
	if c.at(1).ReplicaFetch(&Fetch{Replica: 2, ReplicaEpoch: 20, Epoch: 3, LastEpoch: -1}, &out); out.Code != kafka.ErrNotLeaderOrFollower {
		t.Errorf("fetch from a follower: %s", out.Code)
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

// TestHighWatermarkIsCheckpointed also when nothing was appended since: otherwise a
// restarted leader would show less than before.
func TestHighWatermarkIsCheckpointed(t *testing.T) {
	c := newCopies(t, nil)
	c.elect(1, 1, 2)
	c.append(1)
	if err := c.pull(2); err != nil {
		t.Fatal(err)
	}
	for _, id := range three[:2] {
		c.rigs[id].dirs.Checkpoint()
	}
	for range 2 {
		if err := c.pull(2); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range three[:2] {
		r := c.rigs[id]
		r.dirs.Checkpoint()
		name := r.p.Dir().Path + "/" + logdir.HighWatermarkFile
		if b, err := vfs.ReadFile(r.fs, name, 1000); err != nil || !strings.Contains(string(b), "t 0 2") {
			t.Errorf("copy %d: %q, %v", id, b, err)
		}
	}
}
