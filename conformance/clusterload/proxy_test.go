package clusterload_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/mortisemq/mortise/cluster/local"
)

// proxy is an address in front of another, which cuts and slows what goes through.
type proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	cut    bool                  // guarded by mu
	delay  time.Duration         // guarded by mu; of each piece, in each direction
	conns  map[net.Conn]struct{} // guarded by mu
	closed bool                  // guarded by mu
}

// proxies are those in front of each way into each node that only nodes use.
type proxies struct{ peer, replication []*proxy }

// newProxies makes them for n nodes, and the options of nodes behind them.
func newProxies(t testing.TB, n int) (*proxies, local.Options, error) {
	t.Helper()
	ports, err := local.FreePorts(2 * n) // the second half has listeners for followers
	if err != nil {
		return nil, local.Options{}, err
	}
	all, o := &proxies{}, local.Options{Ports: ports[:n]}
	for i := range n {
		peer, replication := newProxy(t), newProxy(t)
		peer.target, replication.target = loopback(ports[i].Peer), loopback(ports[n+i].Clients)
		all.peer, all.replication = append(all.peer, peer), append(all.replication, replication)
		o.Replication = append(o.Replication, ports[n+i].Clients)
		o.Told = append(o.Told, local.Told{Peer: peer.addr(), Replication: replication.addr()})
	}
	return all, o, nil
}

// loopback is the address of a port of this machine.
func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// pieceBytes is how much of a stream is delayed at once.
const pieceBytes = 64 << 10

// newProxy listens on a free port until the test ends. The target need not be there yet.
func newProxy(t testing.TB) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, conns: map[net.Conn]struct{}{}}
	p.running.Go(p.serve)
	t.Cleanup(p.close)
	return p
}

// addr is where others connect.
func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.forward(in) })
	}
}

// forward connects in with the target, unless that is cut off.
func (p *proxy) forward(in net.Conn) {
	defer in.Close()
	if !p.keep(in) {
		return
	}
	defer p.drop(in)
	out, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer out.Close()
	if !p.keep(out) {
		return
	}
	defer p.drop(out)
	var both sync.WaitGroup
	both.Go(func() { p.copy(out, in) })
	both.Go(func() { p.copy(in, out) })
	both.Wait()
}

// copy takes one direction until either side ends, which ends the other direction too.
func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	piece := make([]byte, pieceBytes)
	for {
		n, err := from.Read(piece)
		if delay := p.delayed(); delay > 0 && n > 0 {
			<-time.After(delay)
		}
		if n > 0 {
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) delayed() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

// keep notes a connection to be cut; false: it is cut already.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut || p.closed {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// setCut cuts all connections, and those to come, or lets them through again.
func (p *proxy) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut = cut; cut {
		p.closeAll()
	}
}

// closeAll closes all connections. The caller holds mu.
func (p *proxy) closeAll() {
	for c := range p.conns {
		c.Close()
	}
}

// setDelay slows everything.
func (p *proxy) setDelay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.closeAll()
	p.mu.Unlock()
	p.running.Wait()
}

func TestProxy(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c) //nolint:errcheck // the test sees what comes back
			}()
		}
	}()
	p := newProxy(t)
	p.target = echo.Addr().String()
	ask := func(c net.Conn) error {
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", p.addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	c := dial()
	if err := ask(c); err != nil {
		t.Fatal(err)
	}
	p.setDelay(20 * time.Millisecond)
	before := time.Now()
	if err := ask(c); err != nil || time.Since(before) < 40*time.Millisecond {
		t.Errorf("there and back in %s, %v; want 40ms and more", time.Since(before), err)
	}
	p.setCut(true)
	if err := ask(c); err == nil {
		t.Error("an answer through a cut connection")
	}
	if err := ask(dial()); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("a new connection goes through: %v", err)
	}
	p.setCut(false)
	p.setDelay(0)
	if err := ask(dial()); err != nil {
		t.Error(err)
	}
}
