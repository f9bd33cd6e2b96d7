package consensus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Options say how a group is opened.
type Options struct {
	// Dir is the control directory; it is made if needed. Empty: memory.
	Dir    string
	NodeID kafka.BrokerID
	// ClusterID names a new cluster; empty: a random one. An existing cluster
	// keeps its id, and another one here is an error.
	ClusterID string
	Log       *slog.Logger // nil: nothing is logged
}

// Bounds of the control log.
const (
	snapshotAfter = 2048        // entries since the last snapshot that ask for one
	trailingKept  = 256         // entries kept below a snapshot for slow followers
	snapshotCheck = time.Minute // how often raft looks whether one is due
	closeSnapshot = 64          // entries that make an orderly end write one, for a fast next start
	enqueueWait   = 10 * time.Second
)

// Timeouts of elections. A lone voter does not wait for them.
const (
	heartbeatTimeout = time.Second
	leaseTimeout     = 500 * time.Millisecond
	commitTimeout    = 50 * time.Millisecond
)

// Group is a seat in the control plane. It is safe for concurrent use.
type Group struct {
	options Options
	store   *store
	machine *machine
	raft    *raft.Raft
	leading chan bool // raft's notices, for lead

	ready chan struct{} // closed when the first own term has begun
	quit  chan struct{}

	mu      sync.Mutex
	closed  bool           // guarded by mu
	running sync.WaitGroup // lead, and proposals that their callers left; Add under mu

	closing  sync.Once
	closeErr error
}

// Open starts the seat. When it returns, Image is what this node knew last; the
// election goes on in the background, and methods that decide wait for it.
func Open(o Options) (*Group, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	logger := newRaftLogger(o.Log)
	s, err := openStore(o.Dir, logger)
	if err != nil {
		return nil, err
	}
	g := &Group{options: o, store: s, machine: newMachine(),
		leading: make(chan bool, 8), ready: make(chan struct{}), quit: make(chan struct{})}
	if err := g.start(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return g, nil
}

// start replays the store and starts raft on it.
func (g *Group) start() error {
	if err := g.machine.replay(g.store); err != nil {
		return err
	}
	id := g.machine.images.Image().ClusterID
	if id != "" && g.options.ClusterID != "" && id != g.options.ClusterID {
		return fmt.Errorf("the control log in %s belongs to cluster %s, but the config says %s", g.store.dir, id, g.options.ClusterID)
	}
	address, transport := raft.NewInmemTransport(raft.ServerAddress(g.serverID()))
	c := g.config()
	known, err := raft.HasExistingState(g.store.logs, g.store.stable, g.store.snapshots)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, g.store.dir, err)
	}
	if known {
		if err := g.checkMember(transport); err != nil {
			return err
		}
	} else {
		alone := raft.Configuration{Servers: []raft.Server{{ID: c.LocalID, Address: address}}}
		if err := raft.BootstrapCluster(c, g.store.logs, g.store.stable, g.store.snapshots, transport, alone); err != nil {
			return fmt.Errorf("begin control log: %w", err)
		}
	}
	if g.raft, err = raft.NewRaft(c, g.machine, g.store.logs, g.store.stable, g.store.snapshots, transport); err != nil {
		return fmt.Errorf("start control log: %w", err)
	}
	g.running.Add(1)
	go g.lead(address, transport)
	return nil
}

// checkMember wants this node to be one of those that the control log names. It comes
// before raft starts: a stranger would stand for election, at the cost of a term in the
// log and lines that say nothing of the cause.
func (g *Group) checkMember(transport raft.Transport) error {
	c := g.config()
	c.Logger = hclog.NewNullLogger() // the start itself tells the same
	servers, err := raft.GetConfiguration(c, g.machine, g.store.logs, g.store.stable, g.store.snapshots, transport)
	if err != nil {
		return fmt.Errorf("%w: %s: members: %w", ErrCorrupt, g.store.dir, err)
	}
	var ids []string
	for _, s := range servers.Servers {
		if s.ID == c.LocalID {
			return nil
		}
		ids = append(ids, string(s.ID))
	}
	return fmt.Errorf("%w: the one in %s is of node %s, and this is node %d: give this node its old node.id, or another data folder",
		ErrStranger, g.store.dir, strings.Join(ids, ", "), g.options.NodeID)
}

// config is raft's config.
func (g *Group) config() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(g.serverID())
	c.Logger = newRaftLogger(g.options.Log)
	c.HeartbeatTimeout, c.ElectionTimeout = heartbeatTimeout, heartbeatTimeout
	c.LeaderLeaseTimeout, c.CommitTimeout = leaseTimeout, commitTimeout
	c.SnapshotThreshold, c.SnapshotInterval, c.TrailingLogs = snapshotAfter, snapshotCheck, trailingKept
	c.NoSnapshotRestoreOnStart = true // replay has done it
	c.NotifyCh = g.leading
	return c
}

// serverID is the node's name in raft.
func (g *Group) serverID() string { return strconv.Itoa(int(g.options.NodeID)) }

// lead makes the lone voter leader at once and sees to what a new leader does:
// a new cluster gets its id. It is the owner of ready.
func (g *Group) lead(self raft.ServerAddress, transport *raft.InmemTransport) {
	defer g.running.Done()
	_, caller := raft.NewInmemTransport("")
	caller.Connect(self, transport)
	now := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	if err := caller.TimeoutNow(raft.ServerID(g.serverID()), self, now, &raft.TimeoutNowResponse{}); err != nil {
		g.options.Log.Info("control: the election waits for its timeout", "error", err)
	}
	once := sync.OnceFunc(func() { close(g.ready) })
	for {
		select {
		case <-g.quit:
			return
		case leads := <-g.leading:
			if leads && g.begin() {
				once()
			}
		}
	}
}

// begin gives a new cluster its id and feature levels; it reports whether the
// cluster has them.
func (g *Group) begin() bool {
	if g.Image().ClusterID != "" {
		return true
	}
	c := &metadata.Bootstrap{ClusterID: g.options.ClusterID, Features: map[string]int16{}}
	if c.ClusterID == "" {
		c.ClusterID = kafka.NewTopicID().String()
	}
	for _, f := range meta.SupportedFeatures() {
		if f.Initial > 0 {
			c.Features[f.Name] = f.Initial
		}
	}
	_, err := g.commit(c)
	if err != nil {
		g.options.Log.Error("control: the new cluster's id could not be written", "error", err)
	}
	return err == nil
}

// Ready waits until this node takes part in decisions and the cluster has an id.
func (g *Group) Ready(ctx context.Context) error {
	select {
	case <-g.ready:
		return nil
	case <-g.quit:
		return kafka.ErrNotController.Err("")
	case <-ctx.Done():
		return kafka.ErrRequestTimedOut.Err("")
	}
}

// propose has a command agreed on and applied here.
func (g *Group) propose(ctx context.Context, c metadata.Command) (metadata.Result, error) {
	if err := g.Ready(ctx); err != nil {
		return metadata.Result{}, err
	}
	if !g.enter() {
		return metadata.Result{}, kafka.ErrNotController.Err("")
	}
	type outcome struct {
		result metadata.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() { // raft's future knows no context
		defer g.running.Done()
		r, err := g.commit(c)
		done <- outcome{r, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return metadata.Result{}, kafka.ErrRequestTimedOut.Err("")
	}
}

// enter notes a proposal that Close has to wait for; false: too late.
func (g *Group) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Add(1)
	}
	return !g.closed
}

// commit appends a command to the log and waits until it is applied here.
func (g *Group) commit(c metadata.Command) (metadata.Result, error) {
	b, err := metadata.EncodeCommand(c)
	if errors.Is(err, metadata.ErrUnreadable) {
		return metadata.Result{}, kafka.ErrInvalidRequest.Err("The request has a text that is not valid UTF-8, or too many parts.")
	}
	if err != nil {
		return metadata.Result{}, err
	}
	f := g.raft.Apply(b, enqueueWait)
	if err := f.Error(); err != nil {
		return metadata.Result{}, forClient(err)
	}
	return f.Response().(metadata.Result), nil
}

// Close ends the seat in order. Calls that wait get an error. A long log is
// turned into a snapshot first, so that the next start is fast.
func (g *Group) Close() error {
	g.closing.Do(func() {
		g.mu.Lock()
		g.closed = true
		g.mu.Unlock()
		close(g.quit)
		var errs []error
		if g.raft.LastIndex()-g.snapshotIndex() >= closeSnapshot {
			if err := g.raft.Snapshot().Error(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
				errs = append(errs, fmt.Errorf("control snapshot: %w", err))
			}
		}
		errs = append(errs, g.raft.Shutdown().Error())
		g.running.Wait()
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
