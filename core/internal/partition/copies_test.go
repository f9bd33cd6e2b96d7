package partition

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// copies are brokers 1 to 3 with a copy each, and a cluster that does what a test says.
// A test carries the fetches.
type copies struct {
	t      testing.TB
	size   int // of values
	rigs   map[kafka.BrokerID]*rig
	state  meta.Partition
	asked  []*meta.ISRChange                    // by the leader, not answered yet
	unfit  map[kafka.BrokerID]bool              // may not be in sync
	epochs map[kafka.BrokerID]kafka.BrokerEpoch // of registrations
	disk   Flush                                // that nobody waits for
}

var three = []kafka.BrokerID{1, 2, 3}

// newCopies makes three copies without a role on memory disks.
func newCopies(t testing.TB, change func(*config.Topic)) *copies {
	return newCopiesOn(t, func() vfs.FS { return vfs.NewMem() }, change)
}

// newCopiesOn makes three copies, each on a disk of its own.
func newCopiesOn(t testing.TB, disk func() vfs.FS, change func(*config.Topic)) *copies {
	c := &copies{t: t, size: 5, rigs: map[kafka.BrokerID]*rig{}, unfit: map[kafka.BrokerID]bool{}, epochs: map[kafka.BrokerID]kafka.BrokerEpoch{1: 10, 2: 20, 3: 30}}
	for _, id := range three {
		r := newRig(t, disk(), change)
		r.p.parts.Eligible = func(id kafka.BrokerID, epoch kafka.BrokerEpoch) bool { return !c.unfit[id] && c.epochs[id] == epoch }
		r.p.parts.ProposeISR = func(_ *Partition, change *meta.ISRChange) { c.asked = append(c.asked, change) }
		c.rigs[id] = r
	}
	c.state = meta.Partition{Replicas: three, Leader: kafka.NoBroker, LeaderEpoch: 0}
	return c
}

// elect makes a broker the leader in the next epoch, and tells everybody.
func (c *copies) elect(leader kafka.BrokerID, isr ...kafka.BrokerID) {
	c.t.Helper()
	c.state.Leader, c.state.ISR = leader, isr
	c.state.LeaderEpoch++
	c.state.PartitionEpoch++
	for _, id := range three {
		c.tell(id)
	}
}

// tell gives a broker the role that the cluster has for it.
func (c *copies) tell(id kafka.BrokerID) {
	c.t.Helper()
	s := &c.state
	err := c.rigs[id].p.SetRole(Role{
		Leading: s.Leader == id, Leader: s.Leader, Epoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch,
		Replicas: s.Replicas, ISR: s.ISR, Recovering: s.Recovering,
	})
	if err != nil {
		c.t.Fatalf("role of %d: %v", id, err)
	}
}

// decide does what the leader asked for, and answers.
func (c *copies) decide() {
	c.t.Helper()
	if len(c.asked) != 1 {
		c.t.Fatalf("%d changes are asked for, want one", len(c.asked))
	}
	change := c.asked[0]
	c.asked = nil
	c.state.PartitionEpoch++
	c.state.ISR = nil
	for _, m := range change.ISR {
		c.state.ISR = append(c.state.ISR, m.ID)
	}
	if c.at(c.state.Leader).ISRAnswered(change, meta.ISRResult{State: c.state}) {
		c.t.Fatal("an answer is not taken")
	}
}

func (c *copies) at(id kafka.BrokerID) *Partition { return c.rigs[id].p }

// request is what a follower sends.
func (c *copies) request(id kafka.BrokerID) *Fetch {
	end, last, epoch := c.at(id).FetchState()
	return &Fetch{
		From: end, LastEpoch: last, Epoch: epoch, MaxBytes: 1 << 20, MinOne: true,
		Replica: id, ReplicaEpoch: c.epochs[id], LogStart: c.at(id).StartOffset(),
	}
}

// ask has the leader answer a request, and reads the records.
func (c *copies) ask(q *Fetch) (out Fetched, records []byte) {
	c.t.Helper()
	c.at(c.state.Leader).ReplicaFetch(q, &out)
	if out.Range == nil {
		return out, nil
	}
	defer out.Range.Release()
	records, err := out.Range.ReadAll(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return out, records
}

// pull is one fetch of a follower, and what it does with the answer.
func (c *copies) pull(id kafka.BrokerID) error {
	c.t.Helper()
	p := c.at(id)
	q := c.request(id)
	out, records := c.ask(q)
	switch {
	case out.Code == kafka.ErrOffsetOutOfRange:
		leader := c.at(c.state.Leader)
		if leader.EndOffset() < q.From {
			return p.TruncateForDivergence(q.Epoch, kafka.NoLeaderEpoch, leader.EndOffset())
		}
		return p.TruncateFully(q.Epoch, leader.StartOffset())
	case out.Code != kafka.None:
		return out.Code.Err("")
	case out.DivergingEpoch != kafka.NoLeaderEpoch || out.DivergingEnd >= 0:
		return p.TruncateForDivergence(q.Epoch, out.DivergingEpoch, out.DivergingEnd)
	}
	_, err := p.takeOver(records, q.Epoch, out.HighWatermark, out.LogStart)
	return err
}

// takeOver is what a fetcher does with an answer that has one partition.
func (p *Partition) takeOver(b []byte, epoch kafka.LeaderEpoch, leaderHW, leaderStart kafka.Offset) (kafka.Offset, error) {
	var disk Flush
	end, err := p.AppendAsFollower(b, epoch, leaderHW, leaderStart, &disk)
	return end, errors.Join(err, disk.Wait())
}

// catchUp pulls until nothing changes any more.
func (c *copies) catchUp(ids ...kafka.BrokerID) {
	c.t.Helper()
	for range 10 {
		before := c.shown()
		for _, id := range ids {
			if err := c.pull(id); err != nil {
				c.t.Fatalf("%d: %v", id, err)
			}
		}
		if c.shown() == before {
			return
		}
	}
	c.t.Fatalf("never caught up: %s", c.shown())
}

// shown is how far everybody is.
func (c *copies) shown() (s string) {
	for _, id := range three {
		p := c.at(id)
		end, last, _ := p.FetchState()
		s += fmt.Sprintf("%d: %d-%d hw %d epoch %d; ", id, p.StartOffset(), end, p.HighWatermark(), last)
	}
	return s
}

// expect compares where a copy is.
func (c *copies) expect(id kafka.BrokerID, end, hw kafka.Offset) {
	c.t.Helper()
	if p := c.at(id); p.EndOffset() != end || p.HighWatermark() != hw {
		c.t.Fatalf("copy %d ends at %d with high watermark %d, want %d and %d", id, p.EndOffset(), p.HighWatermark(), end, hw)
	}
}

// append appends to the leader.
func (c *copies) append(acks int16) Appended {
	c.t.Helper()
	out := c.rigs[c.state.Leader].append(acks, batchOf(c.size, 1, 2))
	if out.Code != kafka.None {
		c.t.Fatalf("append: %s", out.Code)
	}
	return out
}

// bytesOf is all that a copy has below an offset.
func (c *copies) bytesOf(id kafka.BrokerID, upTo kafka.Offset) (all []byte) {
	c.t.Helper()
	log := c.at(id).Log()
	for at := log.StartOffset(); at < upTo; {
		s, err := log.Read(at, commitlog.ReadOptions{MaxBytes: 1 << 30, Upper: upTo, MinOne: true})
		if err != nil {
			c.t.Fatal(err)
		}
		if s.Range == nil {
			break
		}
		if all, err = s.Range.ReadAll(all); err != nil {
			c.t.Fatal(err)
		}
		s.Range.Release()
		at = s.Next
	}
	return all
}

// same fails unless all copies are the leader's.
func (c *copies) same() {
	c.t.Helper()
	want := c.bytesOf(c.state.Leader, c.at(c.state.Leader).EndOffset())
	for _, id := range three {
		if !bytes.Equal(c.bytesOf(id, c.at(id).EndOffset()), want) {
			c.t.Fatalf("copy %d is not the leader's", id)
		}
	}
}

// told collects how waits end.
type told struct{ errs []kafka.ErrorCode }

func (w *told) Synced(err error) {
	var ke *kafka.Error
	switch {
	case err == nil:
		w.errs = append(w.errs, kafka.None)
	case errors.As(err, &ke):
		w.errs = append(w.errs, ke.Code)
	default:
		w.errs = append(w.errs, kafka.ErrUnknownServerError)
	}
}

func (w *told) expect(t testing.TB, want ...kafka.ErrorCode) {
	t.Helper()
	if !slices.Equal(w.errs, want) {
		t.Fatalf("waits ended with %v, want %v", w.errs, want)
	}
}

// batchesIn cuts bytes of a log into batches.
func batchesIn(t testing.TB, b []byte) (list []record.Batch) {
	t.Helper()
	for len(b) > 0 {
		batch, rest, err := record.Next(b)
		if err != nil {
			t.Fatal(err)
		}
		list, b = append(list, batch), rest
	}
	return list
}
