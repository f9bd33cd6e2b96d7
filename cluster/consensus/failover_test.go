package consensus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// retriable says whether a client would ask again.
func retriable(err error) bool {
	return errors.Is(err, kafka.ErrNotController.Err("")) || errors.Is(err, kafka.ErrRequestTimedOut.Err(""))
}

func TestLostLeaderIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 2)
		old := c.leader()
		first := c.decide(old)
		c.isolate(old)
		begin := time.Now()
		now := c.leader(old)
		if took := time.Since(begin); took > 4*heartbeatTimeout {
			t.Errorf("a new leader after %v, want %v at most", took, 4*heartbeatTimeout)
		}
		if second := c.decide(now); second != first+producerIDBlock {
			t.Errorf("block at %d after the first at %d", second, first)
		}
		if c.nodes[old].group.Leads() {
			t.Error("the old leader still thinks that it leads")
		}
		c.stop(old)
		c.heal(old)
		c.start(old)
		c.alike()
	})
}

// What a leader without a majority has written down is not decided, whatever its log
// says, also not after a restart and although it once was alone.
func TestTailOfALostLeaderIsNotDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 3)
		c.decide(1)
		if leader := c.leader(); leader != 1 {
			t.Fatalf("node %d leads, want 1", leader)
		}
		before := c.nodes[1].group.Image()
		c.isolate(1)
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		if b, err := c.nodes[1].group.AllocateProducerIDs(ctx); err == nil || !retriable(err) {
			t.Errorf("without a majority: %v %v, want an error to retry", b, err)
		}
		if end := c.nodes[1].group.raft.LastIndex(); end <= before.Index {
			t.Fatalf("the log ends at %d, want more than %d: the test shows nothing", end, before.Index)
		}
		c.stop(1)
		if err := c.open(1); err != nil { // still cut off
			t.Fatal(err)
		}
		if i := c.nodes[1].group.Image(); i.NextProducerID > before.NextProducerID {
			t.Errorf("ids up to %d are taken after the restart, want %d", i.NextProducerID, before.NextProducerID)
		}
		short, stop2 := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop2()
		if err := c.nodes[1].group.Current(short); err == nil {
			t.Error("a node that reaches nobody says that its image is the cluster's")
		}
		if got := c.decide(c.leader(1)); got != before.NextProducerID {
			t.Errorf("the others give out %d, want %d", got, before.NextProducerID)
		}
		c.heal(1)
		c.alike()
	})
}

func TestNoMajorityNoDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 4)
		c.decide(1)
		c.stop(2)
		c.stop(3)
		begin := time.Now()
		_, err := c.nodes[1].group.AllocateProducerIDs(t.Context())
		if !retriable(err) || time.Since(begin) > 2*leaderPatience {
			t.Errorf("%v after %v, want an error to retry soon", err, time.Since(begin))
		}
		if c.nodes[1].group.Image().NextProducerID == 0 {
			t.Error("the image is gone")
		}
		c.start(2)
		c.decide(2)
		c.decide(1)
		c.alike()
	})
}

// A node that was away for long gets what it missed as soon as it is back.
func TestLongAwayIsSoonBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 14)
		away := 1 + c.leader()%3
		c.stop(away)
		c.decide(c.leader())
		time.Sleep(3 * time.Minute) // of the bubble
		leader := c.leader()
		begin := time.Now()
		c.stop(leader)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("the leader of a cluster with a node away stopped after %v, want %v at most", took, 5*time.Second)
		}
		c.start(leader)
		for range 3 { // also when it was seen and lost in between
			begin := time.Now()
			c.start(away)
			c.alike()
			if took := time.Since(begin); took > 2*heartbeatTimeout {
				t.Errorf("back after %v, want %v at most", took, 2*heartbeatTimeout)
			}
			c.stop(away)
			time.Sleep(20 * time.Second) // of the bubble
		}
	})
}

func TestLeadershipIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 5)
		old := c.leader()
		notices := c.nodes[old].group.Leadership()
		if !<-notices {
			t.Error("the leader was told that it does not lead")
		}
		if err := c.nodes[old].group.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		if <-notices {
			t.Error("a leader that resigned was told that it leads")
		}
		now := c.leader(old)
		if !<-c.nodes[now].group.Leadership() {
			t.Error("the new leader was told that it does not lead")
		}
		time.Sleep(heartbeatTimeout) // of the bubble: the others hear of it
		for id, n := range c.nodes {
			if leader, mine := n.group.Leader(); leader != now || mine != (id == now) {
				t.Errorf("node %d takes %d for the leader (itself: %v), want %d", id, leader, mine, now)
			}
		}
	})
}

// Whatever happens to nodes and network, no decision is made twice, nothing that was
// answered is forgotten, and all agree in the end.
func TestRandomTroubleChangesNoDecision(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { trouble(t, seed) })
		})
	}
}

// trouble is one run.
func trouble(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	c := three(t, seed)
	taken := map[kafka.ProducerID]bool{}
	decided := 0
	ask := func(id kafka.BrokerID) bool {
		ctx, stop := context.WithTimeout(t.Context(), 4*time.Second)
		defer stop()
		b, err := c.nodes[id].group.AllocateProducerIDs(ctx)
		switch {
		case err == nil && taken[b.First]:
			t.Fatalf("block %d was given out twice", b.First)
		case err == nil:
			taken[b.First], decided = true, decided+1
		case !retriable(err):
			t.Fatalf("through node %d: %v, want an error to retry", id, err)
		}
		return err == nil
	}
	for range 40 {
		id := kafka.BrokerID(1 + random.IntN(3))
		up := c.nodes[id].group != nil
		switch what := random.IntN(10); {
		case what == 0 && up:
			c.stop(id)
		case what == 1:
			c.isolate(id)
		case what == 2:
			c.network.CutOneWay(host(id), host(1+id%3))
		case what == 3:
			c.network.SetDelay(host(id), host(1+id%3), 0, time.Duration(random.IntN(300))*time.Millisecond)
		case what < 6:
			c.heal(id)
		case !up:
			if err := c.open(id); err != nil {
				t.Fatal(err)
			}
		default:
			ask(id)
		}
		time.Sleep(time.Duration(random.IntN(800)) * time.Millisecond) // of the bubble
	}
	for id := range c.nodes {
		c.heal(id)
		c.network.SetDelay(host(id), host(1+id%3), 0, 0)
		if c.nodes[id].group == nil {
			if err := c.open(id); err != nil {
				t.Fatal(err)
			}
		}
	}
	for id := range c.nodes {
		for tries := 0; !ask(id); tries++ {
			if tries == 5 {
				t.Fatalf("node %d gets nothing decided after the trouble", id)
			}
			time.Sleep(100 * time.Millisecond) // of the bubble
		}
	}
	c.alike()
	next := c.nodes[1].group.Image().NextProducerID
	for first := range taken {
		if first >= next {
			t.Errorf("block %d was given out, but ids are taken up to %d only", first, next)
		}
	}
	t.Logf("%d decisions in trouble", decided)
}
