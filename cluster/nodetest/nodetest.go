package nodetest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cluster"
	"github.com/mortisemq/mortise/cluster/local"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Patience bounds whatever a test waits for in real time, on a machine that may be very
// busy: a node that joins waits for its cluster, one that stops for others to lead what it
// led. It says nothing about how long that may take.
const Patience = time.Minute

// anyPort is a loopback address whose port is looked for by Start.
const anyPort = "127.0.0.1:0"

// listenerName is the one client listener.
const listenerName = "PLAINTEXT"

// Options change what a test's node is like. The zero value is node 1 in a
// temporary directory.
type Options struct {
	NodeID    kafka.BrokerID    // 0: 1
	ClusterID string            // empty: a random one
	DataDir   string            // empty: a temporary one
	Address   string            // of the client listener; empty: a free port of 127.0.0.1
	Listeners []broker.Listener // beside that one
	Peer      string            // address of the peer port, 127.0.0.1:0: a free one; empty: the node stays alone
	Join      []string          // peer addresses of a cluster to join
	Keys      [][]byte          // of gossip and of the peer port
	Rack      string
	Static    config.Static // Kafka's broker keys
	Retention storage.Retention
	Admin     bool // with the admin listener
	Plugins   broker.Plugins
	SASL      *broker.SASL // nil: clients are anonymous
	Security  broker.Security
	Log       *slog.Logger // nil: warnings go to the test's log
}

// Node is a node of a test. Its methods belong to the test's goroutine, except
// Dial and Addr.
type Node struct {
	t       testing.TB
	options Options
	node    *cluster.Node // nil: stopped
}

// Start runs a node until the test ends.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	if o.NodeID == 0 {
		o.NodeID = 1
	}
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	if err := o.choosePorts(t); err != nil {
		t.Fatal(err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	n := &Node{t: t, options: o}
	n.start()
	t.Cleanup(func() {
		if n.node != nil {
			n.Stop()
		}
	})
	return n
}

// choosePorts finds the ports that a node is to have again after a restart: none that the
// system would give to somebody else while the node is down, as it would those it gives
// for 0.
func (o *Options) choosePorts(t testing.TB) error {
	free, err := local.FreePorts(1)
	if err != nil {
		return err
	}
	if o.Address == "" {
		if o.Address, err = hold(t, free[0].Clients); err != nil {
			return err
		}
	}
	if o.Peer == anyPort {
		o.Peer, err = hold(t, free[0].Peer)
	}
	return err
}

// hold takes a port by UDP until the test ends: whoever else looks for free ports, here or
// in another process, is not given it before the node is up, nor while it is down.
func hold(t testing.TB, port int) (address string, err error) {
	address = fmt.Sprint("127.0.0.1:", port)
	c, err := net.ListenPacket("udp", address)
	if err != nil {
		return "", err
	}
	t.Cleanup(func() { c.Close() })
	return address, nil
}

// start starts a node in the present directory.
func (n *Node) start() {
	n.t.Helper()
	o := cluster.Options{DataDir: n.options.DataDir, ClusterID: n.options.ClusterID,
		Peer: cluster.PeerOptions{Listen: n.options.Peer, Join: n.options.Join, GossipKeys: n.options.Keys}}
	o.Broker = broker.Options{NodeID: n.options.NodeID, Rack: n.options.Rack, Log: n.options.Log, Static: n.options.Static, Retention: n.options.Retention,
		Plugins: n.options.Plugins, Security: n.options.Security,
		Listeners: []broker.Listener{{Name: listenerName, Address: n.options.Address, SASL: n.options.SASL}}}
	o.Broker.Listeners = append(o.Broker.Listeners, n.options.Listeners...)
	if n.options.Admin {
		o.Broker.AdminAddress = "127.0.0.1:0"
	}
	ctx, stop := context.WithTimeout(context.Background(), Patience)
	defer stop()
	node, err := cluster.Start(ctx, o)
	if err != nil {
		n.t.Fatal(err)
	}
	n.node = node
}

// Stop ends the node in order.
func (n *Node) Stop() {
	n.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), Patience)
	defer stop()
	if err := n.node.Close(ctx); err != nil {
		n.t.Errorf("stop node: %v", err)
	}
	n.node = nil
}

// Restart stops the node in order and starts it again.
func (n *Node) Restart() {
	n.t.Helper()
	if n.node != nil {
		n.Stop()
	}
	n.start()
}

// Kill starts a node on the files as they are at this moment, which is what a
// killed process leaves, and ends the old one.
func (n *Node) Kill() {
	n.t.Helper()
	killed := n.t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(n.options.DataDir)); err != nil {
		n.t.Fatal(err)
	}
	n.Stop()
	n.options.DataDir = killed
	n.start()
}

// ID is the node's id.
func (n *Node) ID() kafka.BrokerID { return n.options.NodeID }

// PeerAddr is the address of the peer port; empty: the node stays alone.
func (n *Node) PeerAddr() string { return n.options.Peer }

// Running says whether the node is up.
func (n *Node) Running() bool { return n.node != nil }

// Addr is the address of the client listener.
func (n *Node) Addr() string { return n.options.Address }

// AddrOf is the address of another listener.
func (n *Node) AddrOf(listener string) string { return n.node.Addr(listener).String() }

// AdminAddr is the address of the admin listener.
func (n *Node) AdminAddr() string { return n.node.AdminAddr().String() }

// DataDir is the present directory.
func (n *Node) DataDir() string { return n.options.DataDir }

// Control is the node's seat in the control plane.
func (n *Node) Control() meta.Control { return n.node.Control() }

// Dial opens a connection as a client would.
func (n *Node) Dial() (net.Conn, error) { return net.Dial("tcp", n.options.Address) }

// Client makes a client of this node that is closed with the test.
func (n *Node) Client(opts ...kgo.Opt) *kgo.Client {
	n.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(n.options.Address)}, opts...)...)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(c.Close)
	return c
}
