package brokertest

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/vnet"
)

// port is the operating system's network with one port of 127.0.0.1 that stays taken
// while its broker restarts: else the system may give it to whoever asks for any port
// meanwhile, in this test or in one that runs beside it. Who dials while the broker is
// stopped waits until it is back.
type port struct {
	vnet.Network
	listener *net.TCPListener
}

// takePort takes a port until the test ends.
func takePort(t testing.TB) *port {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &port{vnet.OS(), l.(*net.TCPListener)}
}

// address is where the broker is reached.
func (p *port) address() string { return p.listener.Addr().String() }

// Listen implements vnet.Network. The port has one listener at a time.
func (p *port) Listen(address string) (net.Listener, error) {
	if address != p.address() {
		return p.Network.Listen(address)
	}
	if err := p.listener.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return &lent{TCPListener: p.listener}, nil
}

// lent is the listener of a port until it is closed.
type lent struct {
	*net.TCPListener
	closed atomic.Bool
}

// Accept implements net.Listener.
func (l *lent) Accept() (net.Conn, error) {
	if l.closed.Load() {
		return nil, net.ErrClosed
	}
	c, err := l.TCPListener.Accept()
	if l.closed.Load() {
		if err == nil {
			c.Close()
		}
		return nil, net.ErrClosed
	}
	return c, err
}

// Close implements net.Listener. It ends an Accept that waits.
func (l *lent) Close() error {
	if l.closed.Swap(true) {
		return net.ErrClosed
	}
	return l.SetDeadline(time.Unix(1, 0))
}
