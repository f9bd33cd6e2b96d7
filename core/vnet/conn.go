package vnet

import (
	"errors"
	"net"
	"sync"
	"time"
)

// memAddr is an address in memory.
type memAddr string

func (memAddr) Network() string  { return "mem" }
func (a memAddr) String() string { return string(a) }

// memConn is one end of a connection in memory.
type memConn struct {
	mem           *Mem
	local, remote memAddr
	in, out       *pipe
	readBy, endBy *deadline // of Read and of Write
	once          sync.Once
	peer          *memConn
}

// link makes both ends of a connection.
func link(m *Mem, from, to memAddr) (client, server *memConn) {
	up, down := newPipe(), newPipe()
	client = &memConn{mem: m, local: from, remote: to, in: down, out: up, readBy: newDeadline(), endBy: newDeadline()}
	server = &memConn{mem: m, local: to, remote: from, in: up, out: down, readBy: newDeadline(), endBy: newDeadline()}
	client.peer, server.peer = server, client
	return client, server
}

func (c *memConn) Read(b []byte) (int, error) {
	if err := c.readBy.check(); err != nil {
		return 0, c.opError("read", err)
	}
	if len(b) == 0 {
		return 0, nil
	}
	n, err := c.in.read(b, c.readBy)
	return n, c.opError("read", c.readBy.closedOr(err))
}

func (c *memConn) Write(b []byte) (int, error) {
	if err := c.endBy.check(); err != nil {
		return 0, c.opError("write", err)
	}
	n, err := c.out.write(b, func() (time.Duration, bool) { return c.mem.fate(c.local, c.remote) }, c.endBy)
	return n, c.opError("write", err)
}

// CloseWrite ends the direction to the peer, who reads io.EOF after the rest.
func (c *memConn) CloseWrite() error {
	c.out.close()
	return nil
}

// Close ends both directions. What was written still arrives.
func (c *memConn) Close() error {
	c.once.Do(func() {
		c.readBy.close() // first: who waits here is told this, not what follows from it
		c.endBy.close()
		c.out.close()
		c.in.fail(errReset) // the peer's writes have nobody to read them
		c.mem.forget(c)
	})
	return nil
}

// reset breaks both directions at once, as a cut cable does in the end.
func (c *memConn) reset() {
	c.in.fail(errReset)
	c.out.fail(errReset)
}

func (c *memConn) LocalAddr() net.Addr  { return c.local }
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

func (c *memConn) SetDeadline(t time.Time) error {
	c.readBy.set(t)
	c.endBy.set(t)
	return nil
}

func (c *memConn) SetReadDeadline(t time.Time) error  { c.readBy.set(t); return nil }
func (c *memConn) SetWriteDeadline(t time.Time) error { c.endBy.set(t); return nil }

// opError dresses an error as package net does; io.EOF stays bare.
func (c *memConn) opError(op string, err error) error {
	if err == nil || isEOF(err) {
		return err
	}
	return &net.OpError{Op: op, Net: "mem", Source: c.local, Addr: c.remote, Err: err}
}

// memListener accepts connections to one address.
type memListener struct {
	mem    *Mem
	addr   memAddr
	queue  chan *memConn
	closed chan struct{}
	once   sync.Once
}

// backlogMax is how many connections wait to be accepted.
const backlogMax = 128

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "mem", Addr: l.addr, Err: net.ErrClosed}
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.mem.unlisten(l)
		for { // who was not accepted yet finds a broken connection, as with a kernel
			select {
			case c := <-l.queue:
				c.reset()
				_ = c.Close()
			default:
				return
			}
		}
	})
	return nil
}

func (l *memListener) Addr() net.Addr { return l.addr }

// errRefused is what dialling finds where nobody listens.
var errRefused = errors.New("connection refused")
