package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/core/meta"
)

// TestNodeGone is what people ask when a node is not there: what the others know is
// shown, and what can't be done says why.
func TestNodeGone(t *testing.T) {
	c := nodetest.StartMany(t, 3, nodetest.Options{})
	mustLevel(t, c, "", "topic", "create", "orders", "--partitions", "3", "--replication-factor", "3")
	gone := c.Nodes[2]
	gone.Stop()
	c.Nodes[0].Await(func(img *meta.Image) error {
		if b, known := img.Broker(gone.ID()); !known || !b.Fenced {
			return fmt.Errorf("node %d: known %t, want it fenced", gone.ID(), known)
		}
		return nil
	})
	level(t, c)
	at, id := c.Nodes[0].Addr(), fmt.Sprint(gone.ID())
	if text := must(t, at, "", "topic", "describe", "orders"); strings.Count(text, "\n") < 5 {
		t.Errorf("topic describe with a node gone:\n%s", text)
	}
	fails(t, at, "", 1, "; it must live to be asked", "config", "set", "broker", id, "log.cleaner.threads=2")
	fails(t, at, "", 1, "or let partitions have fewer replicas with --factor", "cluster", "reassign", "--away", id)
}
