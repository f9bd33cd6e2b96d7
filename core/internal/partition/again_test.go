package partition

import (
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestLeaderAgainForgetsItsFollowers: a leader that did not hear that another led in
// between, and cut a follower, does not count what the follower had.
func TestLeaderAgainForgetsItsFollowers(t *testing.T) {
	c := newCopies(t, nil)
	c.elect(1, three...)
	out := c.rigs[1].append(AllReplicas, batch(1))
	w := new(told)
	c.at(1).AwaitWithin(Wait{UpTo: out.Await, Epoch: out.Epoch, All: true, Limit: NoLimit}, w)
	c.catchUp(2)
	lead := func(leader kafka.BrokerID) { // only 2, 3 and the leader itself hear of it
		c.state.Leader = leader
		c.state.LeaderEpoch++
		c.state.PartitionEpoch++
		c.tell(leader)
	}
	lead(3)
	c.tell(2)
	c.catchUp(2) // cuts the batch, which 3 does not have
	if end := c.at(2).EndOffset(); end != 0 {
		t.Fatalf("the follower's log ends at %d, want 0", end)
	}
	lead(1)
	c.tell(3)
	c.catchUp(3)
	if hw := c.at(1).HighWatermark(); hw != 0 || len(w.errs) != 0 {
		t.Fatalf("committed up to %d, answered %v, while 2 has nothing", hw, w.errs)
	}
	c.tell(2)
	c.catchUp(2)
	if hw := c.at(1).HighWatermark(); hw != 1 || len(w.errs) != 1 || w.errs[0] != kafka.None {
		t.Fatalf("committed up to %d, answered %v, want 1 and no error", hw, w.errs)
	}
}

// TestAnswerBeforeItsImage: the image of an earlier change, which is looked at while the
// answer to a later one comes, forgets neither who is in sync by that answer nor what is
// asked for since.
func TestAnswerBeforeItsImage(t *testing.T) {
	c := newCopies(t, nil)
	c.elect(1, 1)
	c.append(1)
	c.catchUp(2)
	late := []Role{*c.at(1).Role()} // what images have
	c.decide()
	late = append(late, *c.at(1).Role())
	c.catchUp(3)
	for _, r := range late {
		if _, taken := c.at(1).take(&r, false); taken {
			t.Fatalf("partition epoch %d is taken after %d", r.PartitionEpoch, c.state.PartitionEpoch)
		}
	}
	c.append(1)
	c.catchUp(2)
	c.expect(1, 4, 2) // both the one who has joined and the one who is asked for hold it
	c.decide()
	c.expect(1, 4, 2)
	c.catchUp(3)
	c.expect(1, 4, 4)
}
