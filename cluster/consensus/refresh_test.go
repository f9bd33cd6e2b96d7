package consensus

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A node that was told of nothing knows after Refresh what another one decided; one that
// reaches nobody says so when its time is over.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 19)
		leader := c.leader()
		other := 1 + leader%3
		g := c.nodes[other].group
		refresh := func() error {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			return g.Refresh(ctx)
		}
		late := false
		for range 10 {
			c.decide(leader)
			decided := c.nodes[leader].group.Image().Index
			late = late || g.Image().Index < decided
			if err := refresh(); err != nil || g.Image().Index < decided {
				t.Fatalf("%v, image %d, want %d", err, g.Image().Index, decided)
			}
		}
		if !late {
			t.Error("the other node knew everything by itself")
		}
		if err := c.nodes[leader].group.Refresh(t.Context()); err != nil {
			t.Errorf("the leader: %v", err)
		}
		c.isolate(other)
		if refresh() == nil {
			t.Error("a node that reaches nobody knows everything")
		}
		c.heal(other)
		c.isolate(leader)
		g = c.nodes[leader].group
		if !g.Leads() {
			t.Fatal("it does not lead any more")
		}
		if refresh() == nil {
			t.Error("a leader that reaches nobody knows everything")
		}
	})
}
