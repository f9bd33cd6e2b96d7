package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mortisemq/mortise/core/vnet"
	"github.com/mortisemq/mortise/core/wire"
	"go.uber.org/goleak"
)

// keyEcho is the key that test handlers take, version 0 (headers without tags).
const keyEcho int16 = 17

// echo answers with the request's body.
func echo(r *wire.Request) {
	resp := wire.NewResponse(r)
	resp.SetBuf(append(resp.Buf(), r.Body...))
	r.Reply(resp)
}

func versions(key int16) (lo, hi int16, ok bool) {
	return 0, 1, key == keyEcho || key == wire.KeyAPIVersions
}

// frame is a request with a body.
func frame(id int32, body []byte) []byte { return frameOf(keyEcho, 0, id, body) }

func frameOf(key, version int16, id int32, body []byte) []byte {
	b := wire.AppendHeader(make([]byte, 4), &wire.Header{Key: key, Version: version, CorrelationID: id, ClientID: []byte("t")})
	b = append(b, body...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// answer reads one response.
func answer(c io.Reader) (id int32, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(head[:])-4)
	_, err = io.ReadFull(c, body)
	return int32(binary.BigEndian.Uint32(head[4:])), body, err
}

// expect reads the answer to id with a body.
func expect(t *testing.T, c io.Reader, id int32, body []byte) {
	t.Helper()
	gotID, got, err := answer(c)
	if err != nil || gotID != id || !bytes.Equal(got, body) {
		t.Fatalf("answer %d of %d bytes, error %v; want %d of %d bytes", gotID, len(got), err, id, len(body))
	}
}

// world is a server in memory and its clients, in a synctest bubble.
type world struct {
	*testing.T
	s   *Server
	net *vnet.Mem
	log syncBuffer
}

// syncBuffer is a log that many write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (w *world) dial() net.Conn {
	w.Helper()
	c, err := w.net.Host("client").Dial(context.Background(), address)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { c.Close() })
	return c
}

func (w *world) send(c net.Conn, b []byte) {
	w.Helper()
	if _, err := c.Write(b); err != nil {
		w.Fatal(err)
	}
}

// closed checks that the server closes c without an answer.
func (w *world) closed(c net.Conn) {
	w.Helper()
	if _, body, err := answer(c); err == nil {
		w.Fatalf("answer of %d bytes, want a closed connection", len(body))
	}
	synctest.Wait() // the server says why
}

func limits(l Limits) func() Limits { return func() Limits { return l } }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
