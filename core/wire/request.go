package wire

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Handler answers requests.
type Handler interface {
	// Handle starts one request. It is called in arrival order on the
	// connection's goroutine and must not block on network or disk sync; the
	// answer may come later and from any goroutine. The answers of one
	// connection leave in arrival order whatever the order they come in.
	Handle(*Request)
}

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(*Request)

// Handle implements Handler.
func (f HandlerFunc) Handle(r *Request) { f(r) }

// Sink is where the answer of a request goes: the connection that it came from,
// or a Recorder.
type Sink interface {
	// Answer takes the response, which it owns from then on; nil is no answer.
	Answer(resp *Response)
	// Abort closes the connection after earlier answers went out.
	Abort(err error)
	// OnCancel has f called when the connection dies before Answer.
	OnCancel(f func())
	// ReleaseBody gives the memory of the request's frame back.
	ReleaseBody()
}

// Request is one request of a client. It is pooled: neither it nor what it
// refers to may be used after it was answered (Reply, ReplyMessage, ReplyNone or
// Drop, exactly one of them, exactly once, also when the connection has died).
type Request struct {
	Header
	Body     []byte // what follows the header; part of the frame
	Conn     *ConnInfo
	Received time.Time // when the frame was complete

	sink       Sink
	responses  *Responses
	throttleMS int32
	spoiled    error // Drop instead of an answer
	last       error // close after the answer
	answered   atomic.Bool
}

// Init makes r a fresh request whose answer goes to sink and is built in memory
// of pool, which may be nil. It is for those who own the memory of requests.
func (r *Request) Init(h Header, body []byte, conn *ConnInfo, received time.Time, sink Sink, pool *Responses) {
	r.Header, r.Body, r.Conn, r.Received, r.sink, r.responses = h, body, conn, received, sink, pool
	r.throttleMS, r.spoiled, r.last = 0, nil, nil
	r.answered.Store(false)
}

// end claims the one answer of r.
func (r *Request) end() Sink {
	if r.answered.Swap(true) {
		panic("BUG: request answered twice")
	}
	return r.sink
}

// Reply answers with resp, which came from NewResponse(r) and is the server's
// from now on. It never blocks on the network.
func (r *Request) Reply(resp *Response) {
	if r.spoiled != nil {
		resp.Release()
		r.Drop(r.spoiled)
		return
	}
	resp.finish()
	r.end().Answer(resp)
}

// ReplyMessage answers with m in the request's version.
func (r *Request) ReplyMessage(m kmsg.Response) { r.ReplyVersion(m, r.Version) }

// ReplyVersion answers with m in a version that is not the request's: ApiVersions
// answers an unknown version with version 0.
func (r *Request) ReplyVersion(m kmsg.Response, version int16) {
	m.SetVersion(version)
	if t, ok := m.(kmsg.SetThrottleResponse); ok && r.throttleMS > 0 {
		t.SetThrottle(r.throttleMS)
	}
	resp := NewResponse(r)
	resp.buf = m.AppendTo(resp.buf)
	r.Reply(resp)
}

// ReplyNone ends a request that gets no answer (Produce with acks=0).
func (r *Request) ReplyNone() {
	if r.spoiled != nil {
		r.Drop(r.spoiled)
		return
	}
	r.end().Answer(nil)
}

// Spoil turns the coming answer into Drop(err), whatever it will say: something
// that it depends on could not be found out, and the client shall try again. The
// first err counts. Only the goroutine that works on the request may call it.
func (r *Request) Spoil(err error) {
	if r.spoiled == nil {
		r.spoiled = err
	}
}

// CloseAfter has the connection closed once the coming answer went out; the server
// logs err, rate-limited. Only the goroutine that works on the request may call it.
func (r *Request) CloseAfter(err error) { r.last = err }

// ClosesAfter is what CloseAfter set; nil: the connection goes on.
func (r *Request) ClosesAfter() error { return r.last }

// Drop ends the request by closing the connection once the answers before it
// went out. The server logs err, rate-limited. It is Kafka's answer to a body
// that cannot be decoded.
func (r *Request) Drop(err error) { r.end().Abort(err) }

// OnCancel has f called once if the connection dies before the request is
// answered, at once if it is dead already. f runs on any goroutine and must be
// quick. It does not end the request: whoever wins the race between f and the
// normal end still answers once, and that answer goes nowhere. f must therefore
// look at its own state only, unless it wins. At most one f a request.
func (r *Request) OnCancel(f func()) { r.sink.OnCancel(f) }

// ReleaseBody gives the frame's memory back before the answer, so that a request
// that waits long does not hold it. Body, ClientID and all that was decoded from
// them are invalid afterwards.
func (r *Request) ReleaseBody() {
	r.Body, r.ClientID = nil, nil
	r.sink.ReleaseBody()
}

// SetThrottle has the connection muted for ms milliseconds after the answer
// (KIP-219), and written as the throttle time of ReplyMessage.
func (r *Request) SetThrottle(ms int32) { r.throttleMS = ms }

// Throttle is what SetThrottle set, in milliseconds.
func (r *Request) Throttle() int32 { return r.throttleMS }
