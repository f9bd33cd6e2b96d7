package partition

import (
	"syscall"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
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
	t.Run("the directory that it moves to fails meanwhile", func(t *testing.T) {
		c, w := begin(t)
		p, r := c.at(1), c.rigs[1]
		dirs, err := logdir.Open(logdir.Options{FS: r.fs, Dirs: []string{"/next"}, ClusterID: "c", NodeID: 1, Clock: r.clock, ReserveBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = dirs.Close(false, 0) }()
		next := dirs.Dirs()[0]
		copied, err := commitlog.Open(t.Context(), commitlog.Options{
			FS: r.fs, Dir: next.FuturePath(p.TopicPartition()), TP: p.TopicPartition(), TopicID: p.TopicID(), Clock: r.clock,
			Config: p.Config().Log, RecoveryPoint: kafka.NoOffset, StartOffset: kafka.NoOffset,
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Replace(copied, next, func(from *commitlog.Log) error {
			next.Failed("test", syscall.EIO)
			return copied.AppendReplicated(c.bytesOf(1, from.EndOffset()), 0)
		})
		if err != nil {
			t.Fatal(err)
		}
		w.expect(t, kafka.ErrKafkaStorageError)
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
