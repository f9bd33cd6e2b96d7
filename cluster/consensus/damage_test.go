package consensus

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mortisemq/mortise/core/kafka"
)

// A voter of three whose log is damaged does not start, and says where. Without the log it
// comes back by joining, without its vote at first, and has everything again.
func TestDamagedVoterComesBackFromNothing(t *testing.T) {
	root := t.TempDir() // outlives the nodes
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 21)
		c.root = root
		c.grow()
		c.decide(3)
		c.stop(3)
		dir := c.nodes[3].dir
		name := filepath.Join(dir, segmentFiles(dir)[0])
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, flip(b, []byte{0x19, 0x03, 0xe8}), 0o644); err != nil { // the 1000 of a decision
			t.Fatal(err)
		}
		if err := c.open(3); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(name)) {
			t.Fatalf("%v, want ErrCorrupt and the file %s", err, name)
		}
		c.decide(2) // two of three go on
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		c.start(3)
		for _, m := range c.nodes[1].group.Members() {
			if m.Voter != (m.ID != 3) {
				t.Errorf("member %+v after node 3 lost its log", m)
			}
		}
		c.lead(func(g *Group) error { return g.Promote(t.Context(), 3) })
		c.knowsVoters(3, 3)
		c.stop(2)
		c.decide(3) // a majority needs it
		c.alike()
	})
}

// A member that was away while the entries that it lacks became a snapshot gets that.
func TestFarBehindGetsASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t, 22)
		c.stop(3)
		for range 2 * trailingKept {
			c.decide(1)
		}
		for id := kafka.BrokerID(1); id <= 2; id++ {
			if err := c.nodes[id].group.raft.Snapshot().Error(); err != nil {
				t.Fatal(err)
			}
		}
		before, err := c.nodes[3].memory.log.LastIndex()
		if err != nil {
			t.Fatal(err)
		}
		if first, err := c.nodes[1].memory.log.FirstIndex(); err != nil || first <= before+1 {
			t.Fatalf("node 3 lacks entries from %d, node 1 has them from %d (%v): the test shows nothing", before+1, first, err)
		}
		c.start(3)
		if found, err := c.nodes[3].memory.snapshots.List(); err != nil || len(found) == 0 {
			t.Errorf("node 3 got no snapshot: %v", err)
		}
		c.decide(3)
		c.alike()
		c.stop(1)
		c.decide(3) // it counts as a voter
	})
}
