package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// conn is a connection that the port knows until it is closed.
type conn struct {
	net.Conn
	port    *Port
	inbound bool
	once    sync.Once
}

// Close implements net.Conn.
func (c *conn) Close() (err error) {
	c.once.Do(func() {
		err = c.Conn.Close()
		c.port.mu.Lock()
		defer c.port.mu.Unlock()
		delete(c.port.conns, c)
		if c.inbound {
			c.port.inbound--
		}
	})
	return err
}

// track takes a connection in; nil: there are too many, or the port is closed, and it
// was closed.
func (p *Port) track(c net.Conn, inbound bool) *conn {
	tracked := &conn{Conn: c, port: p, inbound: inbound}
	p.mu.Lock()
	full := p.closed || inbound && p.inbound >= connectionsMax
	if !full {
		p.conns[tracked] = struct{}{}
		if inbound {
			p.inbound++
		}
	}
	p.mu.Unlock()
	if full {
		_ = c.Close()
		return nil
	}
	return tracked
}

// dial opens a connection to a node and has it checked. Errors are ErrUnreachable.
func (p *Port) dial(ctx context.Context, to target, what purpose) (*conn, error) {
	c, err := p.options.Net.Dial(ctx, to.address)
	if err != nil {
		p.unheard(to)
		return nil, fmt.Errorf("%w: node %s: %w", ErrUnreachable, to, err)
	}
	tracked := p.track(c, false)
	if tracked == nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, ErrClosed)
	}
	if err := p.introduce(ctx, tracked, to, what); err != nil {
		if p.isAbsent(to, err) {
			p.unheard(to)
		}
		_ = tracked.Close()
		return nil, err
	}
	return tracked, nil
}

// isAbsent says whether the error of a hello means that the node is not at the address.
// One that only refuses is there: it may just be joining, and take no stream yet.
func (p *Port) isAbsent(to target, err error) bool {
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Node != to.node {
		return true
	}
	return refused.Cluster != "" && refused.Cluster != p.Cluster()
}

// ifHungUp is the error of a hello: an end that hangs up may do so before it has read it.
func ifHungUp(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return errHungUp
	}
	return err
}

// introduce says hello and reads the answer.
func (p *Port) introduce(ctx context.Context, c *conn, to target, what purpose) error {
	h := hello{purpose: what, format: p.options.Format, from: p.options.Node, to: to.node, cluster: p.Cluster(), address: p.address, instance: p.instance, nonce: newNonce()}
	w, err := func() (w welcome, err error) {
		by := time.Now().Add(helloTimeout)
		if d, ok := ctx.Deadline(); ok && d.Before(by) {
			by = d
		}
		if err = c.SetDeadline(by); err != nil {
			return w, err
		}
		if _, err = c.Write(h.encode()); err != nil {
			return w, ifHungUp(err)
		}
		if w, err = readWelcome(c); err != nil {
			return w, ifHungUp(err)
		}
		if w, err = p.answerChallenge(c, &h, w); err != nil {
			return w, err
		}
		return w, c.SetDeadline(time.Time{})
	}()
	if err != nil {
		return fmt.Errorf("%w: node %s: %w", ErrUnreachable, to, err)
	}
	if w.refused() {
		return &RefusedError{Address: to.address, Node: w.node, Cluster: w.cluster, Reason: w.reason, Format: w.status == statusFormat}
	}
	return nil
}

// target is a node at an address.
type target struct {
	node    kafka.BrokerID // NoBroker: whoever answers there
	address string
}

// String names the target in errors.
func (t target) String() string {
	if t.node == kafka.NoBroker {
		return "at " + t.address
	}
	return fmt.Sprintf("%d at %s", t.node, t.address)
}
