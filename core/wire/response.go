package wire

import (
	"encoding/binary"
	"io"
	"sync"
)

// Body is bytes of a response that are not copied into it: a range of a file.
type Body interface {
	// Len is the number of bytes; it does not change.
	Len() int64
	// WriteTo writes all Len bytes to w, or fails: what was announced cannot be
	// taken back, so a short body ends the connection.
	WriteTo(w io.Writer) (int64, error)
	// Release frees what the body holds. It is called exactly once, after the
	// last WriteTo.
	Release()
}

// bufKept and holesKept are the largest buffer and list that a pooled response keeps.
const (
	bufKept   = 64 << 10
	holesKept = 1024
)

// hole is a place in the buffer where a body goes.
type hole struct {
	at   int
	body Body
}

// Response is an answer under construction: bytes with bodies between them. It
// is pooled, and used by one goroutine at a time.
type Response struct {
	pool      *Responses // nil: none
	buf       []byte
	holes     []hole
	bodyBytes int64
}

// Responses is a pool of responses. The zero value is ready; it is safe for
// concurrent use.
type Responses struct{ pool sync.Pool }

// get returns an empty response. A nil pool gives a fresh one.
func (p *Responses) get() *Response {
	if p != nil {
		if resp, ok := p.pool.Get().(*Response); ok {
			return resp
		}
	}
	return &Response{pool: p, buf: make([]byte, 0, 512)}
}

// NewResponse starts the answer to r: room for the frame's length, and the
// response header in the version that r wants. Hot: 0 allocs when pooled.
func NewResponse(r *Request) *Response {
	resp := r.responses.get()
	resp.buf = append(resp.buf[:0], 0, 0, 0, 0)
	if r.Key == KeyToken {
		return resp
	}
	resp.buf = appendInt32(resp.buf, r.CorrelationID)
	if responseHeaderTags(r.Key, r.Version) {
		resp.buf = append(resp.buf, 0)
	}
	return resp
}

// Buf is what was written so far. Append to it and give it back with SetBuf.
func (resp *Response) Buf() []byte { return resp.buf }

// SetBuf puts back what Buf gave, grown.
func (resp *Response) SetBuf(b []byte) { resp.buf = b }

// Append grows the response by what f appends.
func (resp *Response) Append(f func(b []byte) []byte) { resp.buf = f(resp.buf) }

// AddBody puts body after what was written so far. The response owns it. A body
// of no bytes is released at once.
func (resp *Response) AddBody(body Body) {
	if body.Len() == 0 {
		body.Release()
		return
	}
	resp.holes = append(resp.holes, hole{at: len(resp.buf), body: body})
	resp.bodyBytes += body.Len()
}

// Len is the size of the whole frame with its length field, in bytes.
func (resp *Response) Len() int64 { return int64(len(resp.buf)) + resp.bodyBytes }

// BodyLen is how many of Len's bytes are in bodies.
func (resp *Response) BodyLen() int64 { return resp.bodyBytes }

// finish writes the frame's length, which does not count itself.
func (resp *Response) finish() {
	binary.BigEndian.PutUint32(resp.buf, uint32(resp.Len()-4))
}

// Pieces calls head and body in the order in which the frame's parts leave. It
// stops at the first error.
func (resp *Response) Pieces(head func([]byte) error, body func(Body) error) error {
	at := 0
	for _, h := range resp.holes {
		if err := head(resp.buf[at:h.at]); err != nil {
			return err
		}
		if err := body(h.body); err != nil {
			return err
		}
		at = h.at
	}
	if at == len(resp.buf) {
		return nil
	}
	return head(resp.buf[at:])
}

// Bytes is the frame of a response that has no bodies.
func (resp *Response) Bytes() (frame []byte, ok bool) { return resp.buf, len(resp.holes) == 0 }

// Release gives the response and its bodies back. Whoever took it from a Sink
// calls it once.
func (resp *Response) Release() {
	for i := range resp.holes {
		resp.holes[i].body.Release()
		resp.holes[i] = hole{}
	}
	resp.holes = resp.holes[:0]
	if cap(resp.holes) > holesKept {
		resp.holes = nil
	}
	resp.bodyBytes = 0
	if cap(resp.buf) > bufKept {
		resp.buf = make([]byte, 0, 512)
	}
	if resp.pool != nil {
		resp.pool.pool.Put(resp)
	}
}

// bytesBody is a Body in memory.
type bytesBody []byte

// BytesBody makes a Body of bytes in memory, which nobody may change any more.
func BytesBody(b []byte) Body { return bytesBody(b) }

func (b bytesBody) Len() int64 { return int64(len(b)) }
func (b bytesBody) Release()   {}
func (b bytesBody) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b)
	return int64(n), err
}

var _ Body = bytesBody(nil)
