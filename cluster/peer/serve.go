package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// serve answers the calls of one connection until it ends.
func (p *Port) serve(c *conn) {
	defer c.Close() //nolint:errcheck // it is over
	ctx, stop := context.WithCancel(p.ctx)
	defer stop()
	slots := make(chan struct{}, callsMax)
	write := make(chan struct{}, 1) // held while an answer is written
	in := bufio.NewReader(c)
	for {
		if c.SetReadDeadline(time.Now().Add(idleTimeout)) != nil {
			return
		}
		q, err := readRequest(in)
		if err != nil {
			if errors.Is(err, errMalformed) {
				p.options.Log.Warn("peer port: call", "from", c.RemoteAddr(), "error", err)
			}
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if !p.spawn(func() {
			defer func() { <-slots }()
			p.answer(ctx, c, write, &q)
		}) {
			return
		}
	}
}

// answer runs one call and writes what came of it.
func (p *Port) answer(ctx context.Context, c *conn, write chan struct{}, q *request) {
	if q.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, q.timeout)
		defer stop()
	}
	a := answer{id: q.id}
	body, err := p.dispatch(ctx, q.kind, q.body)
	if err == nil && len(body) > frameMax-answerHead {
		err = fmt.Errorf("an answer of %d bytes, want at most %d", len(body), frameMax-answerHead)
	}
	var refused *kafka.Error
	switch {
	case err == nil:
		a.body = body
	case errors.As(err, &refused):
		a.code, a.body = refused.Code, []byte(refused.Message)
	default:
		a.code, a.body = kafka.ErrUnknownServerError, []byte(err.Error())
	}
	write <- struct{}{} // freed by writes, which have a deadline
	defer func() { <-write }()
	if c.SetWriteDeadline(time.Now().Add(writeTimeout)) != nil {
		return
	}
	if _, err := c.Write(a.encode()); err != nil {
		_ = c.Close() // half an answer may be out
	}
}

// dispatch finds the handler of a call.
func (p *Port) dispatch(ctx context.Context, kind Kind, body []byte) ([]byte, error) {
	p.mu.Lock()
	f := p.handlers[kind]
	p.mu.Unlock()
	if f == nil {
		return nil, kafka.ErrBrokerNotAvailable.Err(fmt.Sprintf("Node %d does not answer calls of kind %d.", p.options.Node, kind))
	}
	return f(ctx, body)
}
