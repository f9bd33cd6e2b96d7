package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vnet"
)

// Pace of gossip.
const (
	probeInterval   = 250 * time.Millisecond // between two probes of this node
	probeTimeout    = 125 * time.Millisecond // for an answer, before others are asked
	suspicionFactor = 3                      // intervals that a suspect has to object, if two accuse it
	loneAccuser     = 2                      // times as long if one does
	spreadInterval  = 100 * time.Millisecond // between two rounds of news
	spreadFactor    = 8                      // times that news are passed on, with the digits of the cluster's size
	syncInterval    = 15 * time.Second       // between two exchanges of everything
	streamTimeout   = 5 * time.Second
	remembered      = 30 * time.Second // how long the library still talks to the dead
	updateWait      = time.Second      // for news about this node to leave it
	reclaimAfter    = time.Millisecond // a dead member's id may have a new address
)

// RejoinInterval is how often lost members are looked for.
const RejoinInterval = 10 * time.Second

// membersMax is how many nodes are remembered.
const membersMax = 1024

// Options say how a node gossips.
type Options struct {
	Net    vnet.PacketNetwork // nil: the operating system's
	Listen string             // host:port for packets and streams
	// Advertised is where others find it, host:port; empty: the bound address. Port 0
	// is the bound port.
	Advertised string
	Facts      Facts
	// Keys encrypt gossip, see SetKeys; none: it is not encrypted.
	Keys [][]byte
	// Seeds are gossip addresses (IP:port) of nodes that are not alive here, as alive
	// says, or may not be. It is asked every RejoinInterval, more often while this node
	// is alone; ctx bounds it. nil: there are none.
	Seeds func(ctx context.Context, alive func(kafka.BrokerID) bool) []string
	// Suspected hears that a member was lost, by fault or because it left. It must not
	// block, nor call the Membership. nil: nobody cares.
	Suspected func(id kafka.BrokerID)
	Log       *slog.Logger // nil: nothing is logged
}

// State is how a member was seen last.
type State int8

// States of members.
const (
	Alive State = iota
	Dead
	Left // in order
)

// String is the state's name.
func (s State) String() string { return [...]string{"alive", "dead", "left"}[s] }

// Member is a node as it was seen last.
type Member struct {
	Facts
	Gossip netip.AddrPort
	State  State
}

// name is what the library calls the member.
func (m *Member) name() string { return strconv.Itoa(int(m.ID)) }

// Health is how gossip is doing.
type Health struct {
	Members   int // alive, this node included
	Encrypted bool
	Keys      int
	Score     int // 0: well; more: this node answers late
}

// Membership is this node's view of the others. It is safe for concurrent use.
type Membership struct {
	options   Options
	log       *slog.Logger
	transport *transport
	list      *memberlist.Memberlist
	facts     atomic.Pointer[ownFacts]

	updates chan struct{} // room for one: who changes this node's facts
	keysMu  sync.Mutex    // one change of keys at a time
	ring    *memberlist.Keyring

	mu      sync.Mutex
	known   map[kafka.BrokerID]Member // all but this node; guarded by mu
	doubted map[kafka.BrokerID]doubt  // that verify looks at; guarded by mu
	closed  bool                      // guarded by mu
	refused error                     // why the last exchange was refused; guarded by mu

	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// ownFacts are this node's facts and their bytes.
type ownFacts struct {
	Facts
	encoded []byte
}

// Start opens the gossip port and begins to look for others; it does not wait for any.
func Start(o Options) (*Membership, error) {
	if o.Net == nil {
		o.Net = vnet.OS()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Membership{options: o, log: o.Log, known: map[kafka.BrokerID]Member{}, doubted: map[kafka.BrokerID]doubt{}, updates: make(chan struct{}, 1)}
	encoded, err := o.Facts.encode()
	if err != nil {
		return nil, fmt.Errorf("facts of node %d: %w", o.Facts.ID, err)
	}
	m.facts.Store(&ownFacts{o.Facts, encoded})
	if m.ring, err = newRing(o.Keys); err != nil {
		return nil, err
	}
	if m.transport, err = listen(o.Net, o.Listen, o.Advertised, o.Log); err != nil {
		return nil, fmt.Errorf("gossip port: %w", err)
	}
	if m.list, err = memberlist.Create(m.config()); err != nil {
		return nil, errors.Join(fmt.Errorf("gossip: %w", err), m.transport.Shutdown())
	}
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.running.Add(1)
	go m.rejoin()
	return m, nil
}

// config is the library's config.
func (m *Membership) config() *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	c.Name = strconv.Itoa(int(m.options.Facts.ID))
	c.Transport, c.Keyring = m.transport, m.ring
	c.Logger = newLogger(m.log)
	c.ProbeInterval, c.ProbeTimeout, c.SuspicionMult = probeInterval, probeTimeout, suspicionFactor
	c.SuspicionMaxTimeoutMult = loneAccuser
	c.RetransmitMult = spreadFactor
	c.GossipInterval, c.GossipToTheDeadTime = spreadInterval, remembered
	c.PushPullInterval, c.TCPTimeout = syncInterval, streamTimeout
	c.DeadNodeReclaimTime = reclaimAfter
	d := delegate{m}
	c.Delegate, c.Events, c.Alive, c.Merge, c.Conflict = d, d, d, d, d
	return c
}

// Facts are what this node says of itself.
func (m *Membership) Facts() Facts { return m.facts.Load().Facts }

// Address is where others gossip with this node.
func (m *Membership) Address() netip.AddrPort { return m.transport.advertise }

// Update changes what this node says of itself, all but its id, and tells the others.
func (m *Membership) Update(change func(*Facts)) error {
	m.updates <- struct{}{} // for updateWait at most
	defer func() { <-m.updates }()
	m.mu.Lock()
	next := m.facts.Load().Facts
	change(&next)
	next.ID = m.options.Facts.ID
	encoded, err := next.encode()
	if err == nil {
		m.facts.Store(&ownFacts{next, encoded})
	}
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("facts of node %d: %w", next.ID, err)
	}
	if err := m.list.UpdateNode(updateWait); err != nil {
		m.log.Debug("news of this node are not out yet", "error", err)
	}
	return nil
}

// Members are all other nodes that were ever seen, by id.
func (m *Membership) Members() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Member, 0, len(m.known))
	for _, member := range m.known {
		all = append(all, member)
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Find is another node as it was seen last.
func (m *Membership) Find(id kafka.BrokerID) (Member, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	member, ok := m.known[id]
	return member, ok
}

// alive says whether another node is alive.
func (m *Membership) alive(id kafka.BrokerID) bool {
	member, ok := m.Find(id)
	return ok && member.State == Alive
}

// Lost are the nodes that were seen and are not alive any more, by id.
func (m *Membership) Lost() []kafka.BrokerID {
	var lost []kafka.BrokerID
	for _, member := range m.Members() {
		if member.State != Alive {
			lost = append(lost, member.ID)
		}
	}
	return lost
}

// Health is how gossip is doing.
func (m *Membership) Health() Health {
	h := Health{Members: m.list.NumMembers(), Score: m.list.GetHealthScore()}
	if m.ring != nil {
		h.Encrypted, h.Keys = true, len(m.ring.GetKeys())
	}
	return h
}

// Leave tells the others that this node goes in order. ctx bounds the wait for one of
// them to hear it. Only Close may follow.
func (m *Membership) Leave(ctx context.Context) error {
	m.end() // what is under way ends with Close: it may wait for nodes that are down
	if err := m.Update(func(f *Facts) { f.Leaving = true }); err != nil {
		return err
	}
	wait := updateWait
	if end, ok := ctx.Deadline(); ok {
		wait = max(min(wait, time.Until(end)), time.Millisecond)
	}
	if err := m.list.Leave(wait); err != nil {
		return fmt.Errorf("leave gossip: %w", err)
	}
	return nil
}

// Close ends gossip; the others then miss this node. A probe of the library that is under
// way ends a few seconds later, without harm. Close may be called once.
func (m *Membership) Close() error {
	m.end()
	err := m.list.Shutdown()
	m.running.Wait()
	return err
}

// end stops whatever runs for this room alone.
func (m *Membership) end() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
}
