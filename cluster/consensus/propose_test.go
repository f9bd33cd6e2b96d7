package consensus

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/cluster/peer"
)

// A leader that is up but takes no proposals yet has decided nothing: who asks waits.
func TestLeaderThatStartsIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 16)
		leader := c.leader()
		n := c.nodes[leader]
		n.port.Handle(peer.KindPropose, nil)
		timer := time.AfterFunc(leaderPatience/2, func() { n.port.Handle(peer.KindPropose, n.group.answerProposal) })
		defer timer.Stop()
		c.decide(1 + leader%3)
	})
}

// Close ends the wait for a decision that was made elsewhere and does not arrive here.
func TestCloseEndsTheWaitForAnImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 17)
		leader := c.leader()
		c.nodes[leader].port.Handle(peer.KindPropose, func(context.Context, []byte) ([]byte, error) {
			r, err := metadata.EncodeResult(&metadata.Result{})
			return append(binary.BigEndian.AppendUint64(nil, 1<<40), r...), err // what it has is far ahead
		})
		other := 1 + leader%3
		g, asked := c.nodes[other].group, make(chan error, 1)
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		go func() {
			_, err := g.AllocateProducerIDs(ctx)
			asked <- err
		}()
		synctest.Wait()
		c.stop(other)
		select {
		case err := <-asked:
			if !retriable(err) {
				t.Errorf("%v, want an error to retry", err)
			}
		case <-time.After(time.Minute): // of the bubble
			t.Error("it waits on")
			stop()
		}
	})
}

// One who leads again does not say so before its image is complete again, also when it
// hears of the end of the old term and the beginning of the new one at once.
func TestLeadsAgainWithACompleteImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 18)
		leader := c.leader()
		c.isolate(leader) // nothing is decided any more
		g := c.nodes[leader].group
		g.led <- true
		synctest.Wait()
		if g.Leads() {
			t.Error("it leads, and does not know yet what was decided before")
		}
	})
}
