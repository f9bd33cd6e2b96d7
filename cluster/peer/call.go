package peer

import (
	"bufio"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// dialTimeout bounds how long a call waits for a connection.
const dialTimeout = 3 * time.Second

// silenceMax is how long a connection may give no byte while a call waits, before a
// call that gives up takes it for dead. Behind a cut cable it would stay open for
// minutes, and every call with it.
const silenceMax = time.Second

// Call asks a node at an address; NoBroker: whoever answers there. An error of the
// other node is a *kafka.Error; without an answer it is ErrUnreachable or ErrLost.
// Calls of the node itself take no network.
func (p *Port) Call(ctx context.Context, node kafka.BrokerID, address string, kind Kind, body []byte) ([]byte, error) {
	if node == p.options.Node {
		return p.dispatch(ctx, kind, body)
	}
	if len(body) > frameMax-requestHead {
		return nil, fmt.Errorf("%w: a call of %d bytes, want at most %d", ErrUnreachable, len(body), frameMax-requestHead)
	}
	to := target{node, address}
	l, err := p.link(to)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.ready:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: node %s: %w", ErrUnreachable, to, ctx.Err())
	}
	if l.err != nil {
		return nil, l.err
	}
	return l.call(ctx, kind, body)
}

// link is the connection for calls to a target, which may still be dialled.
func (p *Port) link(to target) (*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.links[to]; l != nil {
		return l, nil
	}
	if p.closed {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, ErrClosed)
	}
	l := &link{port: p, to: to, ready: make(chan struct{}), done: make(chan struct{}),
		write: make(chan struct{}, 1), waiting: map[uint64]chan answer{}}
	p.links[to] = l
	p.running.Go(l.run)
	return l, nil
}

// link is one connection for calls. It ends by itself and is forgotten then; the next
// call makes a new one.
type link struct {
	port  *Port
	to    target
	ready chan struct{} // closed when dialled; then conn or err is set
	conn  *conn
	err   error
	done  chan struct{} // closed when the connection has ended
	write chan struct{} // held while a request is written
	last  atomic.Int64  // when the last answer came, in nanoseconds of the clock

	mu      sync.Mutex
	next    uint64                 // guarded by mu
	waiting map[uint64]chan answer // guarded by mu; each has room for its answer
}

// run dials and hands out answers until the connection ends.
func (l *link) run() {
	ctx, stop := context.WithTimeout(l.port.ctx, dialTimeout)
	l.conn, l.err = l.port.dial(ctx, l.to, purposeCalls)
	stop()
	if l.err != nil {
		l.forget() // first, so that who fails with it and calls again dials again
		close(l.ready)
		return
	}
	close(l.ready)
	defer func() {
		_ = l.conn.Close() // it is over
		l.forget()
		close(l.done)
	}()
	in := bufio.NewReader(l.conn)
	for {
		a, err := readAnswer(in)
		if err != nil {
			return
		}
		l.last.Store(time.Now().UnixNano())
		l.mu.Lock()
		waiter := l.waiting[a.id]
		delete(l.waiting, a.id)
		l.mu.Unlock()
		if waiter != nil {
			waiter <- a
		}
	}
}

// forget lets the next call dial.
func (l *link) forget() {
	l.port.mu.Lock()
	defer l.port.mu.Unlock()
	if l.port.links[l.to] == l {
		delete(l.port.links, l.to)
	}
}

// giveUp ends a connection that is of no use any more; the next call dials.
func (l *link) giveUp() {
	l.forget()
	_ = l.conn.Close()
}

// call sends a request and waits for its answer.
func (l *link) call(ctx context.Context, kind Kind, body []byte) ([]byte, error) {
	q := request{kind: kind, body: body}
	if by, ok := ctx.Deadline(); ok {
		q.timeout = max(time.Until(by), time.Millisecond)
	}
	got := make(chan answer, 1)
	l.mu.Lock()
	l.next++
	q.id = l.next
	l.waiting[q.id] = got
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, q.id)
	}()
	begin := time.Now()
	if err := l.send(ctx, &q); err != nil {
		return nil, err
	}
	select {
	case a := <-got:
		return a.result()
	case <-l.done:
		select {
		case a := <-got: // it came before the end
			return a.result()
		default:
		}
		return nil, fmt.Errorf("%w: node %s", ErrLost, l.to)
	case <-ctx.Done():
		if time.Since(begin) >= silenceMax && l.last.Load() <= begin.UnixNano() {
			l.giveUp()
		}
		return nil, fmt.Errorf("%w: node %s: %w", ErrLost, l.to, ctx.Err())
	}
}

// result is what Call returns.
func (a *answer) result() ([]byte, error) {
	if a.code != kafka.None {
		return nil, a.code.Err(string(a.body))
	}
	return a.body, nil
}

// send writes a request. One that fails half-way ends the connection.
func (l *link) send(ctx context.Context, q *request) error {
	select {
	case l.write <- struct{}{}:
		defer func() { <-l.write }()
	case <-l.done:
		return fmt.Errorf("%w: node %s: the connection ended", ErrUnreachable, l.to)
	case <-ctx.Done():
		return fmt.Errorf("%w: node %s: %w", ErrUnreachable, l.to, ctx.Err())
	}
	by := time.Now().Add(writeTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(by) {
		by = d
	}
	err := l.conn.SetWriteDeadline(by)
	if err == nil {
		_, err = l.conn.Write(q.encode())
	}
	if err != nil {
		l.giveUp()
		return fmt.Errorf("%w: node %s: %w", ErrLost, l.to, err)
	}
	return nil
}
