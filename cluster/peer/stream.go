package peer

import (
	"context"
	"net"
	"sync"

	"github.com/mortisemq/mortise/core/kafka"
)

// Stream is the part of a port that carries the control log: connections as they are,
// after both ends have said who they are. It is a net.Listener.
type Stream struct {
	port  *Port
	queue chan *conn
	quit  chan struct{}

	mu     sync.Mutex
	closed bool               // guarded by mu
	conns  map[*conn]struct{} // handed out and perhaps still open; guarded by mu
}

// Stream has the port take streams from now on. It is asked for once.
func (p *Port) Stream() *Stream {
	s := &Stream{port: p, queue: make(chan *conn), quit: make(chan struct{}), conns: map[*conn]struct{}{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stream = s
	return s
}

// Accept implements net.Listener.
func (s *Stream) Accept() (net.Conn, error) {
	select {
	case c := <-s.queue:
		return c, nil
	case <-s.quit:
	case <-s.port.ctx.Done():
	}
	return nil, net.ErrClosed
}

// Addr implements net.Listener.
func (s *Stream) Addr() net.Addr { return s.port.Addr() }

// Dial opens a stream to a node. Errors are ErrUnreachable.
func (s *Stream) Dial(ctx context.Context, node kafka.BrokerID, address string) (net.Conn, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.port.ctx, stop)()
	c, err := s.port.dial(ctx, target{node, address}, purposeStream)
	if err != nil {
		return nil, err
	}
	if !s.keep(c) {
		_ = c.Close()
		return nil, ErrClosed
	}
	return c, nil
}

// offer hands a connection that arrived to Accept.
func (s *Stream) offer(c *conn) {
	if !s.keep(c) {
		_ = c.Close()
		return
	}
	select {
	case s.queue <- c:
		return
	case <-s.quit:
	case <-s.port.ctx.Done():
	}
	_ = c.Close()
}

// keep notes a connection that Close has to end; false: it is closed. Those that have
// ended meanwhile are forgotten here: there are few.
func (s *Stream) keep(c *conn) bool {
	s.port.mu.Lock()
	var ended []*conn
	s.mu.Lock()
	for have := range s.conns {
		if _, open := s.port.conns[have]; !open {
			ended = append(ended, have)
		}
	}
	for _, e := range ended {
		delete(s.conns, e)
	}
	ok := !s.closed
	if ok {
		s.conns[c] = struct{}{}
	}
	s.mu.Unlock()
	s.port.mu.Unlock()
	return ok
}

// Close ends Accept and every stream, at both ends of the port.
func (s *Stream) Close() error {
	s.port.mu.Lock()
	if s.port.stream == s {
		s.port.stream = nil
	}
	s.port.mu.Unlock()
	s.mu.Lock()
	was := s.closed
	s.closed = true
	conns := s.conns
	s.conns = nil
	s.mu.Unlock()
	if was {
		return nil
	}
	close(s.quit)
	for c := range conns {
		_ = c.Close()
	}
	return nil
}

var _ net.Listener = (*Stream)(nil)
