package sendfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// pair is a connected pair of TCP sockets on loopback.
func pair(tb testing.TB) (server, client *net.TCPConn) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close(); s.Close() })
	return s.(*net.TCPConn), c.(*net.TCPConn)
}

// numbered makes a file in which each 8 bytes say where they stand.
func numbered(tb testing.TB, size int) *os.File {
	tb.Helper()
	b := make([]byte, size)
	for i := 0; i+8 <= size; i += 8 {
		binary.BigEndian.PutUint64(b[i:], uint64(i))
	}
	f, err := os.Create(filepath.Join(tb.TempDir(), "f"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	if _, err := f.Write(b); err != nil {
		tb.Fatal(err)
	}
	return f
}

// TestSharedFileConcurrently holds what Go's own sendfile gets wrong: many
// answers from one open file at once each carry their own bytes.
func TestSharedFileConcurrently(t *testing.T) {
	const conns, each, size = 8, 200, 96 << 10
	f := numbered(t, 4<<20)
	var s Sender
	var wg sync.WaitGroup
	for w := range conns {
		server, client := pair(t)
		wg.Go(func() {
			for i := range each {
				off := int64((w*each+i)%40) * size
				if n, err := s.Send(server, f, off, size); n != size || err != nil {
					t.Errorf("sent %d: %v", n, err)
					server.Close()
					return
				}
			}
		})
		wg.Go(func() {
			buf := make([]byte, size)
			for i := range each {
				if _, err := io.ReadFull(client, buf); err != nil {
					t.Error(err)
					return
				}
				if got, want := binary.BigEndian.Uint64(buf[size-8:]), uint64((w*each+i)%40*size+size-8); got != want {
					t.Errorf("answer %d of %d carries bytes of %d, want %d", i, w, got, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestShortFileIsAnError(t *testing.T) {
	f := numbered(t, 1000)
	var s Sender
	server, client := pair(t)
	go io.Copy(io.Discard, client)
	if n, err := s.Send(server, f, 200, 900); n != 800 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("socket: sent %d, %v", n, err)
	}
	var out bytes.Buffer
	if _, err := s.Send(&out, f, 200, 900); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("copy: %v", err)
	}
}

func TestCopyWhereThereIsNoSocket(t *testing.T) {
	f := numbered(t, 200<<10)
	var s Sender
	var out bytes.Buffer
	if n, err := s.Send(&out, f, 8, 150<<10); n != 150<<10 || err != nil {
		t.Fatalf("sent %d, %v", n, err)
	}
	if got := binary.BigEndian.Uint64(out.Bytes()[100<<10:]); got != 100<<10+8 {
		t.Errorf("carries bytes of %d", got)
	}
}

func TestSendDoesNotAllocate(t *testing.T) {
	f := numbered(t, 64<<10)
	var s Sender
	server, client := pair(t)
	buf := make([]byte, 64<<10)
	n := testing.AllocsPerRun(100, func() {
		if _, err := s.Send(server, f, 0, int64(len(buf))); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, buf); err != nil {
			t.Fatal(err)
		}
	})
	if n >= 2 { // SyscallConn itself allocates one small value
		t.Errorf("%v allocations a send", n)
	}
}
