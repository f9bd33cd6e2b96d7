package consensus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
)

// Bounds of raft's connections.
const (
	streamTimeout = 3 * time.Second // for one exchange, and for dialling
	streamsKept   = 3               // idle ones for one node: entries, heartbeats, news
)

// transport is what raft's transports have in common.
type transport interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
}

// seat is raft's transport with three additions: this node may tell itself to stand for
// election, how far followers have come is noted on the way, and what is for a node
// that is down waits until it answers heartbeats again. Without that raft tries less
// and less often, and a node that was away for a minute would get nothing for up to ten
// seconds after it is back.
type seat struct {
	transport
	rpcs  chan raft.RPC
	quit  chan struct{}
	ended chan struct{} // closed when pump has ended
	hasty chan struct{} // closed when nothing waits for nodes any more
	once  sync.Once
	err   error

	mu       sync.Mutex
	log      *raft.Raft                      // nil: not started; guarded by mu
	progress map[raft.ServerID]progressing   // guarded by mu
	down     map[raft.ServerID]chan struct{} // closed when the node is back; guarded by mu
	told     map[raft.ServerID]telling       // who is being told what was decided; guarded by mu
}

// downWait bounds how long something waits for a node that is down.
const downWait = 5 * time.Minute

// progressing is how far a follower has come, as its leader knows it.
type progressing struct {
	end      uint64    // its last entry
	heard    time.Time // when it said so
	caughtUp time.Time // when it last had every entry of the leader; zero: never
}

// newSeat is the transport over the port; without one, a transport that reaches nobody.
func (g *Group) newSeat() *seat {
	s := &seat{rpcs: make(chan raft.RPC), quit: make(chan struct{}), ended: make(chan struct{}), hasty: make(chan struct{}),
		progress: map[raft.ServerID]progressing{}, down: map[raft.ServerID]chan struct{}{}, told: map[raft.ServerID]telling{}}
	if g.options.Port == nil {
		_, s.transport = raft.NewInmemTransport(raft.ServerAddress(g.serverID()))
	} else {
		s.transport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
			ServerAddressProvider: byID{}, Logger: newRaftLogger(g.options.Log),
			Stream: &streams{Stream: g.options.Port.Stream(), group: g}, MaxPool: streamsKept, Timeout: streamTimeout})
	}
	go s.pump()
	return s
}

// pump hands on what other nodes ask.
func (s *seat) pump() {
	defer close(s.ended)
	for {
		select {
		case rpc := <-s.transport.Consumer():
			select {
			case s.rpcs <- rpc:
			case <-s.quit:
				return
			}
		case <-s.quit:
			return
		}
	}
}

// Consumer implements raft.Transport.
func (s *seat) Consumer() <-chan raft.RPC { return s.rpcs }

// Close implements raft.WithClose.
func (s *seat) Close() error {
	s.once.Do(func() {
		close(s.quit)
		s.err = s.transport.Close()
		if network, ok := s.transport.(*raft.NetworkTransport); ok {
			network.CloseStreams()
		}
		<-s.ended
	})
	return s.err
}

// standNow has raft stand for election without waiting for a timeout, as in a
// transfer of leadership.
func (s *seat) standNow(self raft.ServerAddress) error {
	answer := make(chan raft.RPCResponse, 1)
	rpc := raft.RPC{RespChan: answer, Command: &raft.TimeoutNowRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, Addr: []byte(self)}}}
	select {
	case s.rpcs <- rpc:
		return (<-answer).Error
	case <-s.quit:
		return raft.ErrTransportShutdown
	}
}

// follow says whose log followers are compared with.
func (s *seat) follow(r *raft.Raft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = r
}

// AppendEntries implements raft.Transport. Heartbeats come this way several times a
// second, so what is noted is never old.
func (s *seat) AppendEntries(id raft.ServerID, target raft.ServerAddress, q *raft.AppendEntriesRequest, a *raft.AppendEntriesResponse) error {
	heartbeat := q.PrevLogEntry == 0 && q.LeaderCommitIndex == 0 && len(q.Entries) == 0
	if !heartbeat {
		s.waitUntilUp(id)
	}
	if err := s.transport.AppendEntries(id, target, q, a); err != nil {
		if !heartbeat {
			s.noteDown(id, err)
		}
		return err
	}
	s.noteUp(id, a.LastLog)
	return nil
}

// InstallSnapshot implements raft.Transport.
func (s *seat) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, q *raft.InstallSnapshotRequest, a *raft.InstallSnapshotResponse, data io.Reader) error {
	s.waitUntilUp(id)
	err := s.transport.InstallSnapshot(id, target, q, a, data)
	s.noteDown(id, err)
	return err
}

// waitUntilUp waits for a node that was not reached the last time. The end of the
// leadership ends it too, by release.
func (s *seat) waitUntilUp(id raft.ServerID) {
	s.mu.Lock()
	up := s.down[id]
	s.mu.Unlock()
	if up == nil {
		return
	}
	timer := time.NewTimer(downWait)
	defer timer.Stop()
	select {
	case <-up:
	case <-timer.C:
	case <-s.hasty:
	}
}

// hurry ends every wait for a node, now and later: raft is about to stop, and waits for
// all that it has under way.
func (s *seat) hurry() { close(s.hasty) }

// noteDown notes that a node was not reached, if that is the error.
func (s *seat) noteDown(id raft.ServerID, err error) {
	if !errors.Is(err, peer.ErrUnreachable) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down[id] == nil {
		s.down[id] = make(chan struct{})
	}
}

// noteUp notes that a node answered, and where its log ends.
func (s *seat) noteUp(id raft.ServerID, end uint64) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.progress[id]
	p.end, p.heard = end, now
	if s.log != nil && end >= s.log.LastIndex() {
		p.caughtUp = now
	}
	s.progress[id] = p
	if up := s.down[id]; up != nil {
		close(up)
		delete(s.down, id)
	}
}

// release ends every wait for a node: this one leads no more.
func (s *seat) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, up := range s.down {
		close(up)
		delete(s.down, id)
	}
}

// forget begins anew with a follower.
func (s *seat) forget(id raft.ServerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.progress, id)
}

// of is how far a follower has come.
func (s *seat) of(id raft.ServerID) progressing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress[id]
}

// streams is the port as raft wants it.
type streams struct {
	*peer.Stream
	group *Group
}

// Dial implements raft.StreamLayer. The address is a node's id: where it listens is
// looked up each time, so nodes may move.
func (s *streams) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, stop := context.WithTimeout(context.Background(), timeout)
	defer stop()
	id, err := nodeOf(raft.ServerID(address))
	if err != nil {
		return nil, err
	}
	where, ok := s.group.addressOf(id)
	if !ok {
		return nil, fmt.Errorf("%w: node %d: its address is not known", peer.ErrUnreachable, id)
	}
	return s.Stream.Dial(ctx, id, where)
}

// byID makes a node's id its address.
type byID struct{}

// ServerAddr implements raft.ServerAddressProvider.
func (byID) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	return raft.ServerAddress(id), nil
}

// addressOf is the peer address of a node.
func (g *Group) addressOf(id kafka.BrokerID) (string, bool) {
	if g.options.Resolve != nil {
		if a, ok := g.options.Resolve(id); ok {
			return a, true
		}
	}
	if a, ok := g.options.Port.Heard(id); ok {
		return a, true
	}
	if b, ok := g.Image().Broker(id); ok && b.Peer != "" {
		return b.Peer, true
	}
	return g.machine.addressOf(serverID(id))
}

// errNoPort says that this node has no way to others.
var errNoPort = errors.New("this node has no peer port")

// Call asks a node by its id.
func (g *Group) Call(ctx context.Context, id kafka.BrokerID, kind peer.Kind, body []byte) ([]byte, error) {
	if g.options.Port == nil {
		return nil, fmt.Errorf("%w: node %d: %w", peer.ErrUnreachable, id, errNoPort)
	}
	where := ""
	if id != g.options.NodeID {
		var ok bool
		if where, ok = g.addressOf(id); !ok {
			return nil, fmt.Errorf("%w: node %d: its address is not known", peer.ErrUnreachable, id)
		}
	}
	return g.options.Port.Call(ctx, id, where, kind, body)
}
