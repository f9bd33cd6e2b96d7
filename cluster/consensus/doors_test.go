package consensus

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/meta"
)

// Where a node was before it moved it does not ask to be let in: whoever is there now may be
// of another cluster, which would end its start.
func TestOldAddressIsNoDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 21)
		for id := range c.nodes {
			if _, err := c.nodes[id].group.RegisterBroker(t.Context(), meta.Registration{ID: id, Peer: address(id)}); err != nil {
				t.Fatal(err)
			}
		}
		c.catchUp(3)
		c.stop(3)
		time.Sleep(time.Second) // of the bubble: as in TestNodeMayMove
		n := c.nodes[3]
		var err error
		if n.port, err = peer.Listen(peer.Options{Net: c.network.Host("elsewhere"), Address: "elsewhere:1", Node: 3}); err != nil {
			t.Fatal(err)
		}
		if n.group, err = Open(t.Context(), Options{NodeID: 3, Memory: n.memory, Port: n.port}); err != nil {
			t.Fatal(err)
		}
		c.catchUp(3)
		doors := n.group.doors()
		slices.Sort(doors)
		if want := []string{address(1), address(2)}; !slices.Equal(doors, want) {
			t.Errorf("it asks at %q, want %q", doors, want)
		}
	})
}
