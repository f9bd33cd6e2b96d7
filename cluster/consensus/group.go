package consensus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
)

// Options say how a group is opened.
type Options struct {
	// Dir is the control directory; it is made if needed. Empty: Memory.
	Dir string
	// Memory is what a group without a directory keeps, so that a test can start it
	// again; nil: nothing.
	Memory *Memory
	NodeID kafka.BrokerID
	// ClusterID names a new cluster; empty: a random one. An existing cluster
	// keeps its id, and another one here is an error.
	ClusterID string
	Log       *slog.Logger // nil: nothing is logged

	// Port is the way to and from other nodes; nil: this one stays alone. The group
	// uses it until Close, and tells it the cluster's id. It does not close it.
	Port *peer.Port
	// Join gives the peer addresses of nodes that take a new one in; it is asked
	// again for each attempt. nil: a node that knows nothing begins a cluster.
	Join func() []string
	// Resolve finds the peer address of a node; it is asked before what the group
	// knows itself. nil: nobody else knows.
	Resolve func(kafka.BrokerID) (address string, ok bool)
}

// Bounds of the control log.
const (
	snapshotAfter = 2048        // entries since the last snapshot that ask for one
	trailingKept  = 256         // entries kept below a snapshot for slow followers
	snapshotCheck = time.Minute // how often raft looks whether one is due
	closeSnapshot = 64          // entries that make an orderly end write one, for a fast next start
	enqueueWait   = 10 * time.Second
)

// Timeouts of elections: a leader that is silent for 0.7 to 1.4 s is replaced, if a
// majority finds it silent, and one that hears nothing of a majority for half a second
// stops deciding. A leader that stands still may also lead partitions, and whoever comes
// after it needs 0.6 s to be sure of that and 3 s are given to all of it. A lone voter
// does not wait for them.
const (
	heartbeatTimeout = 700 * time.Millisecond
	leaseTimeout     = 500 * time.Millisecond
	commitTimeout    = 500 * time.Millisecond // until followers hear of it anyhow, if tell fails; each one costs an idle group an exchange
)

// Group is a seat in the control plane. It is safe for concurrent use.
type Group struct {
	options Options
	store   *store
	machine *machine
	seat    *seat
	raft    *raft.Raft

	leading    chan bool   // raft's notices, for hear
	led        chan bool   // the newest notice, for lead
	leadership chan bool   // the newest answer for Leadership
	leads      atomic.Bool // this node decides, and its image is complete

	alone  bool          // at the start this node was the only voter
	ready  chan struct{} // closed when the image was the cluster's for the first time
	barred chan struct{} // closed when this node may not take part; then why says why
	why    error
	quit   chan struct{}

	mu      sync.Mutex
	closed  bool           // guarded by mu
	running sync.WaitGroup // lead, and what callers left; Add under mu

	joining  chan struct{} // held by the one join that is being decided
	closing  sync.Once
	closeErr error
}

// Open starts the seat. When it returns, Image is what this node knew last; for a
// lone voter that is the truth. The election goes on in the background, and methods
// that decide wait for it. A node that is new to its cluster waits in Open until it
// was let in; ctx bounds that.
func Open(ctx context.Context, o Options) (*Group, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := openStore(&o)
	if err != nil {
		return nil, err
	}
	g := &Group{options: o, store: s, machine: newMachine(),
		leading: make(chan bool, 8), led: make(chan bool, 1), leadership: make(chan bool, 1),
		ready: make(chan struct{}), barred: make(chan struct{}), quit: make(chan struct{}), joining: make(chan struct{}, 1)}
	if err := g.start(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return g, nil
}

// start replays the store and starts raft on it.
func (g *Group) start(ctx context.Context) error {
	members, err := g.store.members()
	if err != nil {
		return err
	}
	g.alone = votesAlone(members, g.serverID())
	if err := g.machine.replay(g.store, members, g.alone); err != nil {
		return err
	}
	known, err := raft.HasExistingState(g.store.logs, g.store.stable, g.store.snapshots)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, g.store.dir, err)
	}
	if err := g.checkSelf(ctx, members, known); err != nil {
		return err
	}
	g.seat = g.newSeat()
	if g.options.Port != nil {
		g.machine.decided = make(chan struct{}, 1)
	}
	c := g.config()
	if !known && g.options.Join == nil {
		self := raft.Configuration{Servers: []raft.Server{{ID: c.LocalID, Address: g.serverAddress()}}}
		if err := raft.BootstrapCluster(c, g.store.logs, g.store.stable, g.store.snapshots, g.seat, self); err != nil {
			return errors.Join(fmt.Errorf("begin control log: %w", err), g.seat.Close())
		}
		g.machine.StoreConfiguration(0, self)
		g.alone = true
	}
	if g.raft, err = raft.NewRaft(c, g.machine, g.store.logs, g.store.stable, g.store.snapshots, g.seat); err != nil {
		return errors.Join(fmt.Errorf("start control log: %w", err), g.seat.Close())
	}
	g.seat.follow(g.raft)
	g.answerCalls()
	g.running.Add(3)
	go g.hear()
	go g.tell()
	go g.lead()
	return nil
}

// checkSelf wants this node to be one of those that the control log names, and of the
// cluster that it shall be of; one that is new is let in. It comes before raft starts:
// a stranger would stand for election, at the cost of a term in the log and lines that
// say nothing of the cause, and a voter that lost its disk would vote a second time.
func (g *Group) checkSelf(ctx context.Context, members raft.Configuration, known bool) error {
	id := g.machine.clusterID()
	if id != "" && g.options.ClusterID != "" && id != g.options.ClusterID {
		return fmt.Errorf("the control log in %s belongs to cluster %s, but the config says %s", g.store.dir, id, g.options.ClusterID)
	}
	if port := g.options.Port; port != nil && id != "" {
		port.SetCluster(g.machine.identity())
	}
	switch {
	case g.options.Join != nil && g.alone:
		return g.checkNeighbours(ctx)
	case g.options.Join != nil && !isMember(members, g.serverID()):
		return g.join(ctx, !known)
	case !known || isMember(members, g.serverID()):
		return nil
	case len(members.Servers) == 0:
		return fmt.Errorf("%w: the one in %s is of a node that did not get into its cluster: say where to join, or use another data folder",
			ErrStranger, g.store.dir)
	}
	var ids []string
	for _, s := range members.Servers {
		ids = append(ids, string(s.ID))
	}
	return fmt.Errorf("%w: the one in %s is of node %s, and this is node %d: give this node its old node.id, or another data folder, or cluster.join if it was removed and is to come back",
		ErrStranger, g.store.dir, strings.Join(ids, ", "), g.options.NodeID)
}

// config is raft's config.
func (g *Group) config() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = g.serverID()
	c.Logger = newRaftLogger(g.options.Log)
	c.HeartbeatTimeout, c.ElectionTimeout = heartbeatTimeout, heartbeatTimeout
	c.LeaderLeaseTimeout, c.CommitTimeout = leaseTimeout, commitTimeout
	c.SnapshotThreshold, c.SnapshotInterval, c.TrailingLogs = snapshotAfter, snapshotCheck, trailingKept
	c.NoSnapshotRestoreOnStart = true // replay has done it
	c.ShutdownOnRemove = false        // a node that was removed may come back
	c.NotifyCh = g.leading
	return c
}

// Current waits until Image is the cluster's, with its id. That of a lone voter is so
// from the start, but for the very first one.
func (g *Group) Current(ctx context.Context) error {
	if g.alone && g.Image().ClusterID != "" {
		return nil
	}
	return g.Ready(ctx)
}

// Ready waits until this node takes part in decisions and the cluster has an id.
func (g *Group) Ready(ctx context.Context) error {
	select {
	case <-g.ready:
		return nil
	case <-g.barred:
		return g.why
	case <-g.quit:
		return kafka.ErrNotController.Err("")
	case <-ctx.Done():
		return kafka.ErrRequestTimedOut.Err("")
	}
}

// enter notes work that Close has to wait for; false: too late.
func (g *Group) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Add(1)
	}
	return !g.closed
}

// await asks raft for something and waits for its answer, or for ctx, which raft does
// not know.
func (g *Group) await(ctx context.Context, ask func() raft.Future) error {
	if !g.enter() {
		return raft.ErrRaftShutdown
	}
	done := make(chan error, 1)
	go func() {
		defer g.running.Done()
		done <- ask().Error()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return kafka.ErrRequestTimedOut.Err("")
	}
}

// Close ends the seat in order. Calls that wait get an error. A leader hands its
// leadership on, so that the others need not miss it first; a long log is turned into a
// snapshot, so that the next start is fast.
func (g *Group) Close() error {
	g.closing.Do(func() {
		g.mu.Lock()
		g.closed = true
		g.mu.Unlock()
		close(g.quit)
		var errs []error
		if g.raft.State() == raft.Leader && !votesAlone(*g.machine.members.Load(), g.serverID()) {
			if err := g.raft.LeadershipTransfer().Error(); err != nil { // it takes a timeout of an election at most
				g.options.Log.Info("control: the leadership was not handed on", "error", err)
			}
		}
		g.running.Wait() // before the end of raft, which forgets whom it owes an answer
		if g.raft.LastIndex()-g.snapshotIndex() >= closeSnapshot {
			if err := g.raft.Snapshot().Error(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
				errs = append(errs, fmt.Errorf("control snapshot: %w", err))
			}
		}
		g.seat.hurry()
		errs = append(errs, g.raft.Shutdown().Error())
		errs = append(errs, g.store.noteReached(g.machine.applied.Load()), g.store.close())
		g.closeErr = errors.Join(errs...)
	})
	return g.closeErr
}

// snapshotIndex is the last entry of the newest snapshot.
func (g *Group) snapshotIndex() uint64 {
	n, err := strconv.ParseUint(g.raft.Stats()["last_snapshot_index"], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
