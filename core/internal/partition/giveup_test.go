package partition

import (
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// passes lets time pass on the leader, which looks for what waits in vain afterwards.
func (c *copies) passes(d, patience time.Duration) {
	r := c.rigs[c.state.Leader]
	r.clock.Advance(d)
	r.p.GiveUp(r.clock.Now(), patience)
}

// refuses appends with acks=all and gives the answer's code.
func (c *copies) refuses() kafka.ErrorCode {
	return c.rigs[c.state.Leader].append(AllReplicas, batch(1)).Code
}

// TestCutOffLeaderGivesUp: who waits for a replica that is not heard of, of a leader that
// hears of nobody who decides, is told to look for the leader, and no more is taken, until
// the replica is back.
func TestCutOffLeaderGivesUp(t *testing.T) {
	const patience = 4 * time.Second
	c := newCopies(t, min2)
	c.elect(1, 1, 2, 3)
	c.append(AllReplicas)
	c.catchUp(2, 3)
	c.passes(time.Hour, patience) // nobody fetches what does not change
	p := c.at(1)

	w, group := c.wait(c.append(AllReplicas), time.Minute), c.wait(c.append(AllReplicas), NoLimit)
	c.passes(patience, patience)
	w.expect(t) // who decides is heard of: the replica leaves, or is back
	p.parts.CutOff(true)
	w = c.wait(c.append(AllReplicas), time.Minute)
	young := c.wait(c.append(AllReplicas), time.Minute)
	c.passes(patience-time.Millisecond, patience+time.Hour)
	young.expect(t)
	c.catchUp(2) // the other one is enough to be waited for
	c.passes(patience, patience)
	w.expect(t, kafka.ErrNotLeaderOrFollower)
	young.expect(t, kafka.ErrNotLeaderOrFollower)
	group.expect(t) // a coordinator waits as long as its role lasts
	end := p.EndOffset()
	if code := c.refuses(); code != kafka.ErrNotLeaderOrFollower || p.EndOffset() != end {
		t.Errorf("%s, and the log goes on from %d to %d", code, end, p.EndOffset())
	}
	if out := c.append(1); out.Code != kafka.None {
		t.Errorf("acks=1: %s", out.Code)
	}
	c.catchUp(2, 3)
	group.expect(t, kafka.None)
	w = c.wait(c.append(AllReplicas), time.Minute)
	c.catchUp(2, 3)
	w.expect(t, kafka.None)
	c.same()
}

// TestCutOffLeaderGoesOn while its replicas fetch, or when it is heard of again.
func TestCutOffLeaderGoesOn(t *testing.T) {
	const patience = 4 * time.Second
	c := newCopies(t, min2)
	c.elect(1, 1, 2, 3)
	p := c.at(1)
	p.parts.CutOff(true)
	for range 5 {
		w := c.wait(c.append(AllReplicas), time.Minute)
		c.passes(time.Second, patience)
		w.expect(t)
		c.catchUp(2, 3)
		w.expect(t, kafka.None)
		c.passes(time.Hour, patience)
	}
	w := c.wait(c.append(AllReplicas), time.Minute)
	c.passes(patience, patience)
	w.expect(t, kafka.ErrNotLeaderOrFollower)
	p.parts.CutOff(false)
	if code := c.refuses(); code != kafka.None {
		t.Errorf("%s once who decides is heard of", code)
	}
	p.parts.CutOff(true)
	c.elect(1, 1, 2)
	if code := c.refuses(); code != kafka.None {
		t.Errorf("%s in another role", code)
	}
}
