package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/internal/sendfile"
	"github.com/mortisemq/mortise/core/wire"
)

// countingConn counts the calls that are system calls on a socket. It hides
// net.TCPConn, so that a writev shows as the writes of its pieces.
type countingConn struct {
	net.Conn
	reads, writes *atomic.Int64
}

func (c countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.reads.Add(1)
	}
	return n, err
}

func (c countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// countingListener wraps what it accepts.
type countingListener struct {
	net.Listener
	reads, writes atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c, &l.reads, &l.writes}, nil
}

// onLoopback serves opt on a real socket and returns a client.
func onLoopback(t testing.TB, opt Options, wrap func(net.Listener) net.Listener) (*Server, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opt.Versions = versions
	s := New(opt)
	address := l.Addr().String()
	if wrap != nil {
		l = wrap(l)
	}
	go s.Serve(l, "PLAINTEXT", wire.AnonymousIdentity())
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return s, c
}

// One read for many small requests, one write for many answers.
func TestSyscallsOfPipelinedRequests(t *testing.T) {
	l := &countingListener{}
	_, c := onLoopback(t, Options{Handler: wire.HandlerFunc(echo)}, func(inner net.Listener) net.Listener {
		l.Listener = inner
		return l
	})
	body := make([]byte, 100)
	var batch []byte
	const n = 100
	for id := range int32(n) {
		batch = append(batch, frame(id, body)...)
	}
	const rounds = 20
	for range rounds {
		if _, err := c.Write(batch); err != nil {
			t.Fatal(err)
		}
		for id := range int32(n) {
			expect(t, c, id, body)
		}
	}
	// The first rounds teach the reader to read much; a read may also split.
	reads, writes := l.reads.Load(), l.writes.Load()
	if reads > 3*rounds || writes > 3*rounds {
		t.Errorf("%d reads and %d writes for %d requests in %d batches, want about one each a batch", reads, writes, n*rounds, rounds)
	}
}

// fileBody is a range of a file that goes out by sendfile where it can.
type fileBody struct {
	f      *os.File
	off, n int64
	sender *sendfile.Sender
	sent   *atomic.Int64 // by sender
}

func (b fileBody) Len() int64 { return b.n }
func (b fileBody) Release()   {}
func (b fileBody) WriteTo(w io.Writer) (int64, error) {
	if c, ok := w.(*net.TCPConn); ok {
		n, err := b.sender.Send(c, b.f, b.off, b.n)
		b.sent.Add(n)
		return n, err
	}
	return io.Copy(w, io.NewSectionReader(b.f, b.off, b.n))
}

func TestBodiesLeaveBySendfileBetweenHeads(t *testing.T) {
	data := make([]byte, 4<<20)
	for i := range data {
		data[i] = byte(i * 7 / 3)
	}
	path := filepath.Join(t.TempDir(), "segment")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var sent atomic.Int64
	var sender sendfile.Sender
	// Small, large, and empty bodies, with heads before, between and after.
	ranges := [][2]int64{{0, 100}, {5, 1 << 20}, {17, 0}, {3 << 20, 1 << 20}, {1000, copyLimit}, {2000, copyLimit + 1}}
	h := wire.HandlerFunc(func(r *wire.Request) {
		resp := wire.NewResponse(r)
		for i, span := range ranges {
			resp.SetBuf(fmt.Appendf(resp.Buf(), "<%d>", i))
			resp.AddBody(fileBody{f, span[0], span[1], &sender, &sent})
		}
		resp.SetBuf(append(resp.Buf(), "end"...))
		r.Reply(resp)
	})
	var want []byte
	for i, span := range ranges {
		want = append(fmt.Appendf(want, "<%d>", i), data[span[0]:span[0]+span[1]]...)
	}
	want = append(want, "end"...)
	_, c := onLoopback(t, Options{Handler: h}, nil)
	const n = 8
	for id := range int32(n) {
		c.Write(frame(id, nil))
	}
	for id := range int32(n) {
		expect(t, c, id, want)
	}
	if got := sent.Load(); got != n*(2<<20+copyLimit+1) {
		t.Errorf("%d bytes by sendfile, want %d: small ranges copied, large ones not", got, n*(2<<20+copyLimit+1))
	}
}

// FETCH-11: an answer with few records is one write, so that no packet waits for
// an acknowledgement.
func TestSmallBodyIsOneWrite(t *testing.T) {
	l := &countingListener{}
	h := wire.HandlerFunc(func(r *wire.Request) {
		resp := wire.NewResponse(r)
		resp.AddBody(wire.BytesBody(make([]byte, 1000)))
		resp.SetBuf(append(resp.Buf(), 0))
		r.Reply(resp)
	})
	_, c := onLoopback(t, Options{Handler: h}, func(inner net.Listener) net.Listener {
		l.Listener = inner
		return l
	})
	for id := range int32(10) {
		c.Write(frame(id, nil))
		expect(t, c, id, make([]byte, 1001))
	}
	if n := l.writes.Load(); n != 10 {
		t.Errorf("%d writes for 10 answers of head, records and tags, want 10", n)
	}
}

// A file that is shorter than announced ends the connection; nothing is padded.
func TestShortBodyClosesTheConnection(t *testing.T) {
	h := wire.HandlerFunc(func(r *wire.Request) {
		resp := wire.NewResponse(r)
		resp.AddBody(shortBody{})
		r.Reply(resp)
	})
	_, c := onLoopback(t, Options{Handler: h}, nil)
	c.Write(frame(1, nil))
	if _, body, err := answer(c); err == nil {
		t.Errorf("a whole answer of %d bytes out of a body that had 10 of 100,000", len(body))
	}
}

type shortBody struct{}

func (shortBody) Len() int64 { return 100000 }
func (shortBody) Release()   {}
func (shortBody) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(make([]byte, 10))
	return int64(n), err
}

// A whole request costs no allocation in the server, small or large.
func TestRequestsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector pools forget on purpose")
	}
	_, c := onLoopback(t, Options{Handler: wire.HandlerFunc(echoHead)}, nil)
	for _, size := range []int{100, 64 << 10} {
		request, reply := frame(1, make([]byte, size)), make([]byte, 8)
		n := testing.AllocsPerRun(500, func() {
			if _, err := c.Write(request); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, reply); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%d bytes: %v allocs per request, want 0", size, n)
		}
	}
}

// echoHead answers with a header and nothing else.
func echoHead(r *wire.Request) { r.Reply(wire.NewResponse(r)) }

func TestConnectionsPerIPAreClosed(t *testing.T) {
	_, a := onLoopback(t, Options{Handler: wire.HandlerFunc(echo), Limits: limits(Limits{MaxConnectionsPerIP: 1})}, nil)
	a.Write(frame(1, nil))
	expect(t, a, 1, nil)
	b, err := net.Dial("tcp", a.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := b.Read(make([]byte, 1)); err != io.EOF && !bytes.Contains([]byte(err.Error()), []byte("reset")) {
		t.Errorf("second connection of one address: %v, want it closed", err)
	}
	a.Write(frame(2, nil))
	expect(t, a, 2, nil)
}

// brokenListener has no file descriptors left.
type brokenListener struct {
	net.Listener
	accepts atomic.Int64
}

func (l *brokenListener) Accept() (net.Conn, error) {
	if l.accepts.Add(1) <= 5 {
		return nil, syscall.EMFILE
	}
	return l.Listener.Accept()
}

func TestAcceptBacksOffAndRecovers(t *testing.T) {
	l := &brokenListener{}
	start := time.Now()
	_, c := onLoopback(t, Options{Handler: wire.HandlerFunc(echo)}, func(inner net.Listener) net.Listener {
		l.Listener = inner
		return l
	})
	c.Write(frame(1, nil))
	expect(t, c, 1, nil)
	if d := time.Since(start); d < 5*acceptPauseMin {
		t.Errorf("five failed accepts took %v: the loop spins", d)
	}
}

func TestShutdownOnLoopback(t *testing.T) {
	s, c := onLoopback(t, Options{Handler: wire.HandlerFunc(echo)}, nil)
	c.Write(frame(1, nil))
	expect(t, c, 1, nil)
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read after shutdown: %v, want EOF", err)
	}
}
