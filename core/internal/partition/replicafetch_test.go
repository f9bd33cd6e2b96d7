package partition

import (
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/isr"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

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
