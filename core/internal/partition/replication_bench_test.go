package partition

import (
	"testing"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// BenchmarkReplicate is a batch of 16 KiB with acks=all on its way through three copies,
// without a network: append, two fetches, two appends, two fetches that acknowledge.
func BenchmarkReplicate(b *testing.B) {
	c := newCopiesOn(b, vfs.OS, func(c *config.Topic) { c.SegmentBytes = 1 << 30 })
	c.elect(1, three...)
	a := &Append{Batch: batchOf(16<<10, 1), Acks: AllReplicas, Version: 9}
	w, buf := &ignored{}, make([]byte, 0, 1<<20)
	b.SetBytes(int64(len(a.Batch)))
	for b.Loop() {
		a.Batch.Assign(0, kafka.NoLeaderEpoch)
		out := c.at(1).Append(a)
		c.at(1).AwaitWithin(Wait{UpTo: out.Await, Epoch: out.Epoch, All: true, Limit: NoLimit}, w)
		for range 2 {
			for _, id := range three[1:] {
				buf = c.carry(id, buf)
			}
		}
	}
	if w.n != b.N {
		b.Fatalf("%d of %d appends were acknowledged", w.n, b.N)
	}
}

// carry is one fetch of a follower that has the leader's history.
func (c *copies) carry(id kafka.BrokerID, buf []byte) []byte {
	var out Fetched
	end, last, epoch := c.at(id).FetchState()
	q := Fetch{From: end, LastEpoch: last, Epoch: epoch, MaxBytes: 1 << 20, Replica: id, ReplicaEpoch: c.epochs[id]}
	c.at(1).ReplicaFetch(&q, &out)
	buf = buf[:0]
	if out.Range != nil {
		buf, _ = out.Range.ReadAll(buf)
		out.Range.Release()
	}
	if _, err := c.at(id).AppendAsFollower(buf, epoch, out.HighWatermark, out.LogStart, &c.disk); err != nil {
		c.t.Fatal(err)
	}
	return buf
}
