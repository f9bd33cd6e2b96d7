package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// frameMax bounds an answer in bytes.
const frameMax = 16 << 20

// side is one broker and its idle connections.
type side struct {
	name    string
	dial    func() (net.Conn, error)
	short   time.Duration // what short timeouts are
	running sync.WaitGroup
	topics  map[[16]byte]string // the names of the topics that all groups share; set by prepare

	mu   sync.Mutex
	idle []net.Conn
	open map[net.Conn]struct{}
}

func newSide(name string, dial func() (net.Conn, error), short time.Duration) *side {
	return &side{name: name, dial: dial, short: short, open: make(map[net.Conn]struct{})}
}

// call is one request on its way. answer and failed belong to the walk once done.
type call struct {
	number int // of the operation in the script
	op     op
	id     string // of the member that asks
	ended  chan struct{}
	answer kmsg.Response
	failed error
}

func (c *call) done() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// start sends a request on a connection that nobody uses: a broker may answer a parked
// one much later, and takes nothing else from its connection until then. arrivals
// counts the answer.
func (s *side) start(c *call, req kmsg.Request, arrivals *atomic.Int64) {
	s.running.Go(func() {
		c.answer, c.failed = s.ask(clientID(c.op.slot), req)
		close(c.ended)
		arrivals.Add(1)
	})
}

// ask sends a request and waits for its answer, for as long as it takes.
func (s *side) ask(client string, req kmsg.Request) (kmsg.Response, error) {
	conn, err := s.take()
	if err != nil {
		return nil, err
	}
	answer, err := exchange(conn, client, req)
	s.give(conn, err == nil)
	return answer, err
}

func exchange(conn net.Conn, client string, req kmsg.Request) (kmsg.Response, error) {
	const correlation = 1
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(client)).AppendRequest(nil, req, correlation)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > frameMax {
		return nil, fmt.Errorf("an answer of %d bytes, want at most %d", n, frameMax)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(conn, frame); err != nil {
		return nil, err
	}
	answer := req.ResponseKind()
	header := 4
	if answer.IsFlexible() {
		header = 5
	}
	if len(frame) < header {
		return nil, fmt.Errorf("an answer of %d bytes, want at least %d", len(frame), header)
	}
	return answer, answer.ReadFrom(frame[header:])
}

func (s *side) take() (net.Conn, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		conn := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return conn, nil
	}
	s.mu.Unlock()
	conn, err := s.dial()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[conn] = struct{}{}
	return conn, nil
}

func (s *side) give(conn net.Conn, good bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.open[conn]; good && open {
		s.idle = append(s.idle, conn)
		return
	}
	delete(s.open, conn)
	_ = conn.Close() // It is useless already.
}

// hangUp closes all connections; requests that are still parked end.
func (s *side) hangUp() error {
	s.mu.Lock()
	var problems []error
	for conn := range s.open {
		problems = append(problems, conn.Close())
	}
	clear(s.open)
	s.idle = nil
	s.mu.Unlock()
	s.running.Wait()
	return errors.Join(problems...)
}
