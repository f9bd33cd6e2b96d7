package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// NodesMax bounds the nodes of a cluster on one machine.
const NodesMax = 9

// Options are what a cluster is made of.
type Options struct {
	Binary string  // the program, by its path
	Dir    string  // made if needed; what earlier nodes left there is taken up again
	Ports  []Ports // one for each node
	// Defaults are Kafka's broker keys. Those of the factors of replication are set so
	// that a cluster of three survives the loss of one.
	Defaults map[string]string
	// Told are the proxies that nodes are behind; nil: none is.
	Told []Told
	// Replication are the ports of the listeners for followers, of nodes with
	// Told.Replication.
	Replication []int
	// Places are where nodes run; nil: on the loopback address, with their data in Dir.
	Places []Place
}

// Place is where a node runs and has its data.
type Place struct {
	Host   string   // its address
	Inside []string // a command that becomes the one in its further arguments, in a network of its own, say
	Disk   string   // the folder of its data
}

// Cluster is the nodes of one cluster. It is safe for concurrent use, as its nodes are.
type Cluster struct {
	binary   string
	defaults map[string]string
	nodes    []*Node
}

// New makes the folders of a cluster; nothing runs yet.
func New(o Options) (*Cluster, error) {
	switch {
	case len(o.Ports) < 1 || len(o.Ports) > NodesMax:
		return nil, fmt.Errorf("%d nodes, want 1 to %d", len(o.Ports), NodesMax)
	case o.Told != nil && (len(o.Told) != len(o.Ports) || len(o.Replication) != len(o.Ports)):
		return nil, fmt.Errorf("%d proxies and %d ports behind them for %d nodes", len(o.Told), len(o.Replication), len(o.Ports))
	case o.Places != nil && len(o.Places) != len(o.Ports):
		return nil, fmt.Errorf("%d places for %d nodes", len(o.Places), len(o.Ports))
	}
	binary, err1 := filepath.Abs(o.Binary)
	dir, err2 := filepath.Abs(o.Dir)
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	c := &Cluster{binary: binary, defaults: defaults(len(o.Ports), o.Defaults)}
	for i, ports := range o.Ports {
		n := &Node{ID: i + 1, Dir: filepath.Join(dir, fmt.Sprintf("node-%d", i+1)), ports: ports, cluster: c}
		n.place = Place{Host: host, Disk: n.Dir}
		if o.Places != nil {
			n.place = o.Places[i]
		}
		if o.Told != nil {
			n.told, n.replication = o.Told[i], o.Replication[i]
		}
		if err := os.MkdirAll(n.Dir, 0o755); err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, n)
	}
	return c, nil
}

// Nodes are the nodes in the order of their ids, which count from 1.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Brokers are the addresses for clients.
func (c *Cluster) Brokers() []string {
	var all []string
	for _, n := range c.nodes {
		all = append(all, n.Clients())
	}
	return all
}

// Start starts all nodes and returns when each serves clients. Of a new cluster the
// first node founds it, before the others join. After an error some may run: Kill
// ends them.
func (c *Cluster) Start(ctx context.Context) error {
	rest := c.nodes
	if !c.founded() {
		if err := c.nodes[0].Start(ctx); err != nil {
			return err
		}
		rest = c.nodes[1:]
	}
	return each(rest, func(n *Node) error { return n.Start(ctx) })
}

// Stop stops all nodes gracefully, at once; when ctx ends it kills them.
func (c *Cluster) Stop(ctx context.Context) error {
	return each(c.nodes, func(n *Node) error { return n.Stop(ctx) })
}

// Kill ends all nodes at once and waits for their ends.
func (c *Cluster) Kill() error { return each(c.nodes, (*Node).Kill) }

// founded reports whether a node has belonged to the cluster.
func (c *Cluster) founded() bool {
	for _, n := range c.nodes {
		if _, err := os.Stat(n.Data()); err == nil {
			return true
		}
	}
	return false
}

// each calls f for all nodes at once.
func each(nodes []*Node, f func(*Node) error) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { errs[i] = f(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}
