package partition

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/seeded"
)

// drama is three copies with leaders that come and go, roles and answers that arrive
// late, and appends that wait.
type drama struct {
	*copies
	sent  int64
	waits []*promised
	hw    map[kafka.BrokerID]kafka.Offset
}

// promised is an append with acks=all: once it is acknowledged its batch is where it
// said, for ever.
type promised struct {
	told
	base  kafka.Offset
	stamp int64
}

// step does something that can happen.
func (d *drama) step(t *rapid.T) {
	id := rapid.SampledFrom(three).Draw(t, "broker")
	leader := d.at(d.state.Leader)
	switch rapid.IntRange(0, 12).Draw(t, "step") {
	case 0, 1:
		d.produce()
	case 2, 3, 4:
		if id != d.state.Leader {
			_ = d.pull(id) // may be refused: one of the two has not heard of its role yet
		}
	case 5: // the leader looks who lags
		d.rigs[d.state.Leader].clock.Advance(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
		leader.CheckISR(d.rigs[d.state.Leader].clock.Now())
	case 6:
		d.settle(rapid.Bool().Draw(t, "told"))
	case 7: // somebody in sync takes over; who hears of it when?
		d.state.Leader = rapid.SampledFrom(d.state.ISR).Draw(t, "leader")
		d.state.LeaderEpoch++
		d.state.PartitionEpoch++
		d.asked = nil
		d.tell(d.state.Leader)
	case 8:
		d.tell(id)
	case 9, 10, 11: // all is well for a while
		for range 3 {
			for _, follower := range three {
				if follower != d.state.Leader {
					_ = d.pull(follower)
				}
			}
		}
	case 12:
		d.unfit[id] = rapid.Bool().Draw(t, "unfit")
	}
}

// produce appends with acks=all to whoever thinks that it leads.
func (d *drama) produce() {
	for _, id := range three {
		p := d.at(id)
		if !p.Role().Leading {
			continue
		}
		d.sent++
		out := d.rigs[id].append(AllReplicas, batch(d.sent))
		if out.Code != kafka.None {
			continue
		}
		w := &promised{base: out.Base, stamp: d.sent}
		if out.Await == kafka.NoOffset {
			w.Synced(nil)
		} else {
			p.AwaitWithin(Wait{UpTo: out.Await, Epoch: out.Epoch, All: true, Limit: NoLimit}, w)
		}
		d.waits = append(d.waits, w)
	}
}

// settle decides about the oldest change; the leader may not be told, and asks again
// then.
func (d *drama) settle(told bool) {
	if len(d.asked) == 0 {
		return
	}
	change := d.asked[0]
	result := meta.ISRResult{}
	switch {
	case change.LeaderEpoch != d.state.LeaderEpoch:
		result.Err = kafka.ErrFencedLeaderEpoch.Err("")
	case change.PartitionEpoch != d.state.PartitionEpoch:
		result.Err = kafka.ErrInvalidUpdateVersion.Err("")
	default:
		for _, m := range change.ISR {
			if d.unfit[m.ID] && m.ID != d.state.Leader {
				result.Err = kafka.ErrIneligibleReplica.Err("")
			}
		}
		if result.Err == nil {
			d.state.PartitionEpoch++
			d.state.ISR = nil
			for _, m := range change.ISR {
				d.state.ISR = append(d.state.ISR, m.ID)
			}
		}
	}
	result.State = d.state
	if !told {
		result = meta.ISRResult{Err: kafka.ErrNetworkException.Err("")}
	}
	if !d.at(d.state.Leader).ISRAnswered(change, result) {
		d.asked = d.asked[1:]
	}
}

// check compares the copies with what was promised.
func (d *drama) check(t *rapid.T) {
	for _, id := range three {
		hw := d.at(id).HighWatermark()
		if hw < d.hw[id] || hw > d.at(id).EndOffset() {
			t.Fatalf("high watermark of %d goes from %d to %d, its log ends at %d", id, d.hw[id], hw, d.at(id).EndOffset())
		}
		d.hw[id] = hw
	}
	for _, pair := range [][2]kafka.BrokerID{{1, 2}, {2, 3}, {1, 3}} {
		upTo := min(d.hw[pair[0]], d.hw[pair[1]])
		if !bytes.Equal(d.bytesOf(pair[0], upTo), d.bytesOf(pair[1], upTo)) {
			t.Fatalf("%d and %d are not the same up to %d, which is committed on both", pair[0], pair[1], upTo)
		}
	}
	for _, id := range d.state.ISR { // each of them may be elected
		log := d.bytesOf(id, d.at(id).EndOffset())
		for _, w := range d.waits {
			if slices.Equal(w.errs, []kafka.ErrorCode{kafka.None}) && !holds(log, w) {
				t.Fatalf("%d is in sync, and does not have the batch of %d that was acknowledged at offset %d", id, w.stamp, w.base)
			}
		}
	}
}

// holds reports whether a promised batch is where it said.
func holds(log []byte, w *promised) bool {
	for len(log) > 0 {
		b, rest, err := record.Next(log)
		if err != nil {
			return false
		}
		if b.BaseOffset() == w.base {
			return b.MaxTimestamp() == w.stamp
		}
		log = rest
	}
	return false
}

// TestNothingAcknowledgedIsLost: whoever leads next has every batch that was
// acknowledged with acks=all, and copies agree on what is committed.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	acknowledged := 0
	seeded.Check(t, func(rt *rapid.T) {
		d := &drama{copies: newCopies(t, func(c *config.Topic) { c.MinInsyncReplicas, c.SegmentBytes = 2, 400 }), hw: map[kafka.BrokerID]kafka.Offset{}}
		d.elect(1, three...)
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			d.step(rt)
			d.check(rt)
		}
		for _, w := range d.waits {
			if slices.Equal(w.errs, []kafka.ErrorCode{kafka.None}) {
				acknowledged++
			}
			if len(w.errs) > 1 {
				rt.Fatalf("an append was answered with %v", w.errs)
			}
		}
	})
	if acknowledged == 0 {
		t.Error("nothing was ever acknowledged")
	}
	t.Logf("%d appends were acknowledged", acknowledged)
}
