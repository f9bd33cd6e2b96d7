package peer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vnet"
)

// Bounds of a port.
const (
	connectionsMax = 1024            // that others opened
	callsMax       = 64              // running at a time for one connection
	helloTimeout   = 5 * time.Second // for both ends to say who they are
	idleTimeout    = 5 * time.Minute // without a call, until the answering end hangs up
	writeTimeout   = 10 * time.Second
	acceptPause    = 100 * time.Millisecond // after an error of the listener
	heardMax       = 1024                   // nodes whose addresses are remembered
	helloMax       = 1024                   // bytes that a hello of another version may have
)

// Options say what a port is.
type Options struct {
	Net     vnet.Network // nil: the operating system's
	Address string       // where it listens, host:port
	// Advertised is where other nodes find it, host:port; empty: the bound address.
	Advertised string
	Node       kafka.BrokerID
	// Format is the number of the form in which the nodes' builds write decisions. Nodes
	// with another one are refused.
	Format uint16
	Keys   [][]byte     // see SetKeys
	Log    *slog.Logger // nil: nothing is logged
}

// Handler answers calls of one kind. An error that is no *kafka.Error becomes an
// UNKNOWN_SERVER_ERROR with its text. ctx ends with the caller's deadline, with its
// connection and with the port.
type Handler func(ctx context.Context, body []byte) ([]byte, error)

// Port is the port of one node. It is safe for concurrent use.
type Port struct {
	options  Options
	listener net.Listener
	address  string
	instance Instance
	cluster  atomic.Pointer[string]
	keys     atomic.Pointer[[][]byte] // none: nothing is proven
	ctx      context.Context          // ends with Close
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	closed   bool                         // guarded by mu, as all that follows
	handlers map[Kind]Handler             // by kind
	heard    map[kafka.BrokerID]string    // where nodes that dialled here listen
	refused  map[kafka.BrokerID]time.Time // when it was last said of nodes that they are not let in
	conns    map[*conn]struct{}           // everything that is open
	inbound  int                          // of them, opened by others
	links    map[target]*link             // for calls
	stream   *Stream                      // nil: nobody takes streams yet
}

// Listen opens the port. Calls that arrive before their Handler is known are answered
// with BROKER_NOT_AVAILABLE.
func Listen(o Options) (*Port, error) {
	if o.Net == nil {
		o.Net = vnet.OS()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l, err := o.Net.Listen(o.Address)
	if err != nil {
		return nil, fmt.Errorf("peer port: %w", err)
	}
	p := &Port{options: o, listener: l, address: o.Advertised, handlers: map[Kind]Handler{},
		heard: map[kafka.BrokerID]string{}, refused: map[kafka.BrokerID]time.Time{}, conns: map[*conn]struct{}{}, links: map[target]*link{}}
	if p.address == "" {
		p.address = l.Addr().String()
	}
	rand.Read(p.instance[:]) //nolint:errcheck // never fails, by its contract
	p.SetCluster("")
	p.SetKeys(o.Keys)
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.handlers[KindPing] = p.ping
	p.running.Go(p.accept)
	return p, nil
}

// Addr is the address that the port is bound to.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// Advertised is where other nodes find the port, host:port.
func (p *Port) Advertised() string { return p.address }

// Node is whose port it is.
func (p *Port) Node() kafka.BrokerID { return p.options.Node }

// Instance is this start of the node.
func (p *Port) Instance() Instance { return p.instance }

// Cluster is the cluster that the node is of; empty: not known yet.
func (p *Port) Cluster() string { return *p.cluster.Load() }

// SetCluster says which cluster the node is of. It counts for connections that are
// opened afterwards.
func (p *Port) SetCluster(id string) { p.cluster.Store(&id) }

// Handle has f answer calls of a kind from now on.
func (p *Port) Handle(kind Kind, f Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handlers[kind] = f
}

// Heard is where a node listens, by what it said when it dialled here last, until it was
// not found there.
func (p *Port) Heard(id kafka.BrokerID) (address string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	address, ok = p.heard[id]
	return address, ok
}

// ping answers with the instance.
func (p *Port) ping(context.Context, []byte) ([]byte, error) { return p.instance[:], nil }

// Close ends every connection and returns when nothing of the port runs any more.
func (p *Port) Close() error {
	p.mu.Lock()
	was := p.closed
	p.closed = true
	conns := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	if was {
		return nil
	}
	p.stop()
	err := p.listener.Close()
	for _, c := range conns {
		_ = c.Close() // nobody waits for its last words
	}
	p.running.Wait()
	return err
}

// accept takes connections until the listener is closed.
func (p *Port) accept() {
	for {
		c, err := p.listener.Accept()
		switch {
		case p.ctx.Err() != nil:
			if c != nil {
				_ = c.Close()
			}
			return
		case err != nil:
			p.options.Log.Warn("peer port: accept", "error", err)
			select {
			case <-p.ctx.Done():
				return
			case <-time.After(acceptPause):
			}
		default:
			if tracked := p.track(c, true); tracked != nil && !p.spawn(func() { p.receive(tracked) }) {
				_ = tracked.Close()
			}
		}
	}
}

// spawn runs f unless the port is closed.
func (p *Port) spawn(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.running.Go(f)
	}
	return !p.closed
}

// receive finds out who dialled and what for.
func (p *Port) receive(c *conn) {
	if err := c.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		_ = c.Close()
		return
	}
	h, err := readHello(c)
	if errors.Is(err, errOtherVersion) {
		p.turnAway(c, err)
	}
	if err != nil {
		p.options.Log.Debug("peer port: hello", "from", c.RemoteAddr(), "error", err)
		_ = c.Close()
		return
	}
	stream, err := p.welcome(c, &h)
	if err = errors.Join(err, c.SetDeadline(time.Time{})); err != nil {
		p.sayRefused(&h, c.RemoteAddr(), err)
		_ = c.Close()
		return
	}
	if h.purpose == purposeStream {
		stream.offer(c)
		return
	}
	p.serve(c)
}

// turnAway tells one that speaks another version so. It reads what that one has said, or
// closing would take the answer away before it is read.
func (p *Port) turnAway(c *conn, why error) {
	if p.saysAgain(kafka.NoBroker) {
		p.options.Log.Warn("peer port: a node of another build is not let in", "from", c.RemoteAddr(), "error", why)
	}
	w := welcome{status: statusRefused, node: p.options.Node, cluster: p.Cluster(), instance: p.instance, reason: why.Error()}
	if _, err := c.Write(w.encode()); err == nil {
		_, _ = io.CopyN(io.Discard, c, helloMax) // until it hangs up; there is a deadline
	}
}

// welcome lets the other end in, or tells it why not; then it is an error.
func (p *Port) welcome(c *conn, h *hello) (*Stream, error) {
	reason, stream := p.check(h)
	if reason == "" {
		var err error
		if reason, err = p.challenge(c, h); err != nil {
			return nil, err
		}
	}
	w := welcome{node: p.options.Node, cluster: p.Cluster(), instance: p.instance, reason: reason}
	switch {
	case h.format != p.options.Format:
		w.status = statusFormat
	case reason != "":
		w.status = statusRefused
	}
	if _, err := c.Write(w.encode()); err != nil {
		return nil, err
	}
	if reason != "" {
		return nil, errors.New(reason)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.heard[h.from]
	if h.address != "" && h.cluster == w.cluster && (known || len(p.heard) < heardMax) {
		p.heard[h.from] = h.address
	}
	return stream, nil
}

// unheard forgets where a node was heard of: nobody answers there, and it may have moved
// without dialling here since.
func (p *Port) unheard(t target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heard[t.node] == t.address {
		delete(p.heard, t.node)
	}
}

// check decides about a hello: a reason to refuse, or what takes the stream.
func (p *Port) check(h *hello) (reason string, stream *Stream) {
	own := p.Cluster()
	if h.format != p.options.Format {
		return fmt.Sprintf("its build writes decisions in form %d, and that of node %d in form %d: all nodes of a cluster need one build", p.options.Format, h.from, h.format), nil
	}
	if h.to != kafka.NoBroker && h.to != p.options.Node {
		return fmt.Sprintf("it is node %d, not node %d", p.options.Node, h.to), nil
	}
	if h.cluster != own && (h.cluster != "" && own != "" || h.purpose == purposeStream) {
		return fmt.Sprintf("it is of cluster %q, and node %d of cluster %q", own, h.from, h.cluster), nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.purpose == purposeStream && (own == "" || p.stream == nil) {
		return "it does not take part in the control plane yet", nil
	}
	return "", p.stream
}
