package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/mortisemq/mortise/core/vnet"
)

// Bounds of what arrives.
const (
	packetMax    = 64 << 10 // bytes; what is larger is cut and then not understood
	packetsMax   = 1024     // that wait to be looked at; more are dropped
	streamsMax   = 64       // open at a time that others began; more are hung up on
	streamMax    = 2 << 20  // bytes that one stream brings: three times as many as membersMax nodes need
	acceptPause  = 100 * time.Millisecond
	portAttempts = 10 // to find a port that is free for packets and streams
)

// transport carries gossip over a vnet. A packet that nobody has time for is dropped:
// nothing here ever waits for whoever is slow.
type transport struct {
	net       vnet.PacketNetwork
	log       *slog.Logger
	listener  net.Listener
	packets   net.PacketConn
	advertise netip.AddrPort // where others find this node

	received chan *memberlist.Packet
	accepted chan net.Conn
	open     chan struct{} // a token for each stream that others began
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	streams map[*stream]struct{} // that are open; guarded by mu; nil: shut down
}

// listen takes packets and streams of one address. An empty advertised is the address
// itself.
func listen(n vnet.PacketNetwork, address, advertised string, log *slog.Logger) (*transport, error) {
	t := &transport{net: n, log: log, received: make(chan *memberlist.Packet, packetsMax),
		accepted: make(chan net.Conn), open: make(chan struct{}, streamsMax), streams: map[*stream]struct{}{}}
	t.ctx, t.stop = context.WithCancel(context.Background())
	if err := t.bind(address); err != nil {
		t.stop()
		return nil, err
	}
	var err error
	if t.advertise, err = t.findAdvertised(advertised); err != nil {
		t.stop()
		return nil, errors.Join(err, t.listener.Close(), t.packets.Close())
	}
	t.running.Add(2)
	go t.accept()
	go t.receive()
	return t, nil
}

// bind opens both sockets on one port. Of port 0, a port that is free for streams may
// be taken for packets, so some are tried.
func (t *transport) bind(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		l, err := t.net.Listen(address)
		if err != nil {
			return err
		}
		p, err := t.net.ListenPacket(l.Addr().String())
		if err == nil {
			t.listener, t.packets = l, p
			return nil
		}
		if err := errors.Join(err, l.Close()); port != "0" || attempt == portAttempts {
			return err
		}
	}
}

// findAdvertised is the address that others are told, a name looked up once. A port 0
// of it is the bound one.
func (t *transport) findAdvertised(advertised string) (netip.AddrPort, error) {
	bound := t.listener.Addr().String()
	_, boundPort, err := net.SplitHostPort(bound)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if advertised == "" {
		advertised = bound
	}
	host, port, err := net.SplitHostPort(advertised)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if port == "0" {
		port = boundPort
	}
	found, err := Resolve(t.ctx, []string{net.JoinHostPort(host, port)}, nil)
	if err != nil {
		return netip.AddrPort{}, err
	}
	a, err := netip.ParseAddrPort(found[0])
	if err != nil {
		return netip.AddrPort{}, err
	}
	if a.Addr().IsUnspecified() || a.Port() == 0 {
		return netip.AddrPort{}, fmt.Errorf("others can't find this node at %s: set cluster.gossip.advertised", a)
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), nil
}

// FinalAdvertiseAddr implements memberlist.Transport.
func (t *transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return t.advertise.Addr().AsSlice(), int(t.advertise.Port()), nil
}

// WriteTo implements memberlist.Transport.
func (t *transport) WriteTo(b []byte, addr string) (time.Time, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return time.Time{}, err
	}
	_, err = t.packets.WriteTo(b, net.UDPAddrFromAddrPort(to))
	return time.Now(), err
}

// PacketCh implements memberlist.Transport.
func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.received }

// StreamCh implements memberlist.Transport.
func (t *transport) StreamCh() <-chan net.Conn { return t.accepted }

// DialTimeout implements memberlist.Transport.
func (t *transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	c, err := t.net.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return t.track(c, func() {})
}

// track remembers a stream until it is closed, so that Shutdown ends whoever waits for
// it. after is called once it is.
func (t *transport) track(c net.Conn, after func()) (net.Conn, error) {
	s := &stream{Conn: c}
	s.done = sync.OnceFunc(func() {
		t.mu.Lock()
		delete(t.streams, s)
		t.mu.Unlock()
		after()
	})
	t.mu.Lock()
	shut := t.streams == nil
	if !shut {
		t.streams[s] = struct{}{}
	}
	t.mu.Unlock()
	if shut {
		return nil, errors.Join(net.ErrClosed, s.Close())
	}
	return s, nil
}

// Shutdown implements memberlist.Transport: no goroutine that waits for the network is
// left when it returns, but for those of the library, which then end.
func (t *transport) Shutdown() error {
	t.mu.Lock()
	open := t.streams
	t.streams = nil
	t.mu.Unlock()
	t.stop()
	err := errors.Join(t.listener.Close(), t.packets.Close())
	for s := range open {
		_ = s.Close()
	}
	t.running.Wait()
	return err
}

// receive takes packets until Shutdown.
func (t *transport) receive() {
	defer t.running.Done()
	room := make([]byte, packetMax)
	for {
		n, from, err := t.packets.ReadFrom(room)
		if err != nil {
			if !t.survive("packets", err) {
				return
			}
			continue
		}
		select { // the library keeps the bytes
		case t.received <- &memberlist.Packet{Buf: append([]byte(nil), room[:n]...), From: from, Timestamp: time.Now()}:
		default:
		}
	}
}

// accept takes streams until Shutdown.
func (t *transport) accept() {
	defer t.running.Done()
	for {
		c, err := t.listener.Accept()
		if err != nil {
			if !t.survive("streams", err) {
				return
			}
			continue
		}
		select {
		case t.open <- struct{}{}:
		default:
			_ = c.Close() // too many: whoever it is tries again
			continue
		}
		s, err := t.track(c, func() { <-t.open })
		if err != nil {
			return
		}
		select {
		case t.accepted <- s:
		case <-t.ctx.Done():
			_ = s.Close()
			return
		}
	}
}

// survive says whether reading goes on after an error, and pauses if so.
func (t *transport) survive(what string, err error) bool {
	if t.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return false
	}
	t.log.Warn("gossip can't receive", "what", what, "error", err)
	select {
	case <-t.ctx.Done():
		return false
	case <-time.After(acceptPause):
		return true
	}
}

// stream is a connection that is forgotten once it is closed, and brings streamMax bytes
// at most: the library keeps what it reads. One goroutine reads it.
type stream struct {
	net.Conn
	done func()
	read int // bytes so far
}

// Read implements net.Conn.
func (s *stream) Read(b []byte) (int, error) {
	if s.read == streamMax {
		return 0, fmt.Errorf("%w: a stream of more than %d bytes", ErrTooLong, streamMax)
	}
	n, err := s.Conn.Read(b[:min(len(b), streamMax-s.read)])
	s.read += n
	return n, err
}

// Close implements net.Conn.
func (s *stream) Close() error {
	defer s.done()
	return s.Conn.Close()
}

var _ memberlist.Transport = (*transport)(nil)
