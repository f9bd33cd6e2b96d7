package nodetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// votersMax is how many nodes of a cluster vote.
const votersMax = 3

// Cluster are nodes that know each other, in one process on loopback ports. Its methods
// belong to the test's goroutine.
type Cluster struct {
	t testing.TB
	// Nodes are in the order of their ids, from 1.
	Nodes []*Node
}

// StartMany runs a cluster of count nodes until the test ends. Each is like o, with an
// id, a directory and ports of its own; the first one begins the cluster and the others
// join it. When it returns all are registered, and every node knows that.
func StartMany(t testing.TB, count int, o Options) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for range count {
		c.Add(o)
	}
	return c
}

// Add starts one more node and waits until every node that is up knows it as a broker.
func (c *Cluster) Add(o Options) *Node {
	c.t.Helper()
	o.NodeID, o.DataDir, o.Address, o.Peer, o.Join = kafka.BrokerID(len(c.Nodes)+1), "", "", anyPort, nil
	for _, n := range c.Nodes {
		o.Join = append(o.Join, n.PeerAddr())
	}
	n := Start(c.t, o)
	c.Nodes = append(c.Nodes, n)
	c.vote()
	c.Await(func(i *meta.Image) error {
		b, ok := i.Broker(n.ID())
		if !ok || !b.Active() {
			return fmt.Errorf("broker %d is %+v", n.ID(), b)
		}
		return nil
	})
	return n
}

// vote gives nodes a vote when there are enough of them to survive the loss of one.
func (c *Cluster) vote() {
	c.t.Helper()
	if len(c.Nodes) != votersMax {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), Patience)
	defer stop()
	for _, n := range c.Nodes {
		err := c.Nodes[0].Control().AddVoter(ctx, n.ID())
		if err != nil && !errors.Is(err, kafka.ErrDuplicateVoter.Err("")) {
			c.t.Fatalf("vote for node %d: %v", n.ID(), err)
		}
	}
}

// Await waits until the image of every node that is up pleases.
func (c *Cluster) Await(please func(*meta.Image) error) {
	c.t.Helper()
	for _, n := range c.Nodes {
		if n.Running() {
			n.Await(please)
		}
	}
}

// Await waits until the node's image pleases.
func (n *Node) Await(please func(*meta.Image) error) {
	n.t.Helper()
	answers := make(chan error, 1)
	last := errors.New("no image")
	defer n.Control().Watch(func(i *meta.Image) {
		select { // only the newest answer counts
		case <-answers:
		default:
		}
		answers <- please(i)
	})()
	timeout := time.After(Patience)
	for last != nil {
		select {
		case last = <-answers:
		case <-timeout:
			n.t.Fatalf("node %d waited %v: %v", n.ID(), Patience, last)
		}
	}
}

// Client makes a client that knows every node, closed with the test.
func (c *Cluster) Client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	var seeds []string
	for _, n := range c.Nodes {
		seeds = append(seeds, n.Addr())
	}
	return c.Nodes[0].Client(append([]kgo.Opt{kgo.SeedBrokers(seeds...)}, opts...)...)
}
