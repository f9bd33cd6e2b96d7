package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/mortisemq/mortise/cluster/consensus"
	"github.com/mortisemq/mortise/cluster/membership"
	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/loglevel"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/vfs"
)

// Options are what a node is made of.
type Options struct {
	// DataDir is made if needed. One process at a time may use it.
	DataDir string
	// ClusterID names a new cluster; empty: a random one. An existing data
	// directory keeps its id; another one here is an error.
	ClusterID string
	// Peer is the place among other nodes.
	Peer PeerOptions
	// Broker is the rest. Control and Registrar are set by Start; without
	// LogDirs there is one, DataDir/logs.
	Broker broker.Options
}

// Node is a broker and its seat in the control plane.
type Node struct {
	lock   io.Closer
	port   *peer.Port // nil: it stays alone
	group  *consensus.Group
	others *neighbourhood // nil: it stays alone
	broker *broker.Broker
}

// Start starts a node and returns when it serves clients. ctx bounds the start.
func Start(ctx context.Context, o Options) (*Node, error) {
	if o.Broker.FS == nil {
		o.Broker.FS = vfs.OS()
	}
	if o.Broker.Metrics == nil {
		o.Broker.Metrics = metrics.NewRegistry()
	}
	if o.Broker.Log == nil {
		o.Broker.Log = slog.New(slog.DiscardHandler)
	}
	n := &Node{}
	if err := n.start(ctx, o); err != nil {
		return nil, errors.Join(err, n.Close(ctx))
	}
	return n, nil
}

// start starts the parts; what has been started is in n, whatever happens.
func (n *Node) start(ctx context.Context, o Options) error {
	if err := n.lockDir(o.Broker.FS, o.DataDir); err != nil {
		return err
	}
	control := filepath.Join(o.DataDir, "control") // the libraries below use the system's disk
	if err := vfs.MakeDir(vfs.OS(), control); err != nil {
		return fmt.Errorf("control directory: %w", err)
	}
	if err := n.takeSeat(ctx, &o, control); err != nil {
		return err
	}
	n.measure(o.Broker.Metrics)
	var err error
	if o.Broker.LogDirs, err = logDirs(&o); err != nil {
		return err
	}
	if o.Broker.AdminAddress != "" {
		if o.Broker.AdminToken, o.Broker.AdminTokenFile, err = adminToken(o.DataDir); err != nil {
			return err
		}
	}
	o.Broker.Plugins.KeepDir = filepath.Join(o.DataDir, "plugins") // made when one has served
	b, err := broker.New(o.Broker)
	if err != nil {
		return err
	}
	n.broker = b
	if err := b.Start(ctx); err != nil || n.others == nil {
		return err
	}
	return n.others.registered(b)
}

// takeSeat opens the way to other nodes and the control plane, and waits until its
// image is the cluster's: what a broker finds in it decides about its files.
func (n *Node) takeSeat(ctx context.Context, o *Options, dir string) (err error) {
	levels := loglevel.Of(o.Broker.Log)
	log := levels.Logger("mortise.consensus")
	if n.port, err = openPort(&o.Peer, o.Broker.NodeID, o.Broker.Net, levels.Logger("mortise.peer")); err != nil {
		return err
	}
	var gossip atomic.Pointer[membership.Membership] // nil until it has begun
	resolve := func(id kafka.BrokerID) (string, bool) {
		m := gossip.Load()
		if m == nil {
			return "", false
		}
		member, ok := m.Find(id)
		return member.Peer, ok && member.State == membership.Alive
	}
	n.group, err = consensus.Open(ctx, consensus.Options{Dir: dir, NodeID: o.Broker.NodeID, ClusterID: o.ClusterID,
		Log: log, Port: n.port, Join: joinFrom(ctx, o.Peer.Join, log), Resolve: resolve})
	if err != nil {
		return err
	}
	if err := n.group.Current(ctx); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	o.Broker.Control, o.Broker.Registrar = n.group, n.group
	if n.port != nil {
		o.Broker.Peer = n.port.Advertised()
		log.Info("peer port", "address", n.port.Addr(), "advertised", n.port.Advertised())
		if n.others, err = meet(n, o, levels.Logger); err != nil {
			return err
		}
		gossip.Store(n.others.gossip)
		o.Broker.Registrar, o.Broker.Neighbours = n.others.session, n.others
	}
	return nil
}

// logDirs are the log directories by their absolute paths, which is how clients name
// them when they move partitions.
func logDirs(o *Options) ([]string, error) {
	dirs := o.Broker.LogDirs
	if len(dirs) == 0 {
		dirs = []string{filepath.Join(o.DataDir, "logs")}
	}
	absolute := make([]string, len(dirs))
	for i, dir := range dirs {
		var err error
		if absolute[i], err = filepath.Abs(dir); err != nil {
			return nil, fmt.Errorf("log directory %s: %w", dir, err)
		}
	}
	return absolute, nil
}

// lockDir makes the data directory this process's own. It comes before anything
// is opened, so that a second process finds out at once and whom it meets.
func (n *Node) lockDir(fs vfs.FS, dir string) error {
	if err := vfs.MakeDir(fs, dir); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	lock, err := fs.Lock(filepath.Join(dir, ".lock"), []byte(strconv.Itoa(os.Getpid())+"\n"))
	var held *vfs.LockedError
	if errors.As(err, &held) {
		return fmt.Errorf("data directory %s is in use by the process %s: stop it or choose another directory: %w", dir, held.Holder, err)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	n.lock = lock
	return nil
}

// Addr is the address that a listener is bound to.
func (n *Node) Addr(listener string) net.Addr { return n.broker.Addr(listener) }

// AdminAddr is the address of the admin listener; nil: there is none.
func (n *Node) AdminAddr() net.Addr { return n.broker.AdminAddr() }

// PeerAddr is the address of the peer port; nil: the node stays alone.
func (n *Node) PeerAddr() net.Addr {
	if n.port == nil {
		return nil
	}
	return n.port.Addr()
}

// Control is the seat in the control plane.
func (n *Node) Control() meta.Control { return n.group }

// Reconfigure replaces the broker keys of the config file. It returns the keys
// that changed but need a restart to take effect.
func (n *Node) Reconfigure(static config.Static) (pending []string) {
	return n.broker.Reconfigure(static)
}

// Close stops the node: clients first, the control plane last. When ctx ends it
// no longer waits for clients; the next start then recovers what was not
// flushed. It may be called once.
func (n *Node) Close(ctx context.Context) error {
	var errs []error
	if n.others != nil {
		n.others.leave(ctx)
	}
	if n.broker != nil {
		errs = append(errs, n.broker.Close(ctx))
	}
	if n.others != nil {
		errs = append(errs, n.others.close())
	}
	if n.group != nil {
		errs = append(errs, n.group.Close())
	}
	if n.port != nil {
		errs = append(errs, n.port.Close())
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Close())
	}
	return errors.Join(errs...)
}
