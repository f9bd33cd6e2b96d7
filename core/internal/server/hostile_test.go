package server

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/wire"
)

// WIRE-15, and protocol.md 85, 86: only that connection is closed.
func TestHostileFramesCloseTheirConnection(t *testing.T) {
	size := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	inWorld(t, Options{}, func(w *world) {
		good := w.dial()
		for what, b := range map[string][]byte{
			"size 0":              append(size(0), make([]byte, 20)...),
			"size 9":              append(size(9), make([]byte, 20)...),
			"negative size":       size(0xffffffff),
			"size over the limit": size(100<<20 + 1),
			"unknown key":         append(size(100<<20), 0x27, 0x0f, 0, 0),
			"negative key":        append(size(100<<20), 0xff, 0xff, 0, 0),
			"unknown version":     append(size(100<<20), 0, byte(keyEcho), 0, 2),
			"negative version":    append(size(100<<20), 0, byte(keyEcho), 0xff, 0xff),
			"client id too long":  append(size(12), 0, byte(keyEcho), 0, 0, 0, 0, 0, 1, 0x7f, 0xff, 'x', 'x'),
		} {
			c := w.dial()
			c.Write(b) // may be cut off by the close
			c.SetReadDeadline(time.Now().Add(time.Second))
			start := time.Now()
			w.closed(c)
			if time.Since(start) > 0 {
				t.Errorf("%s: closed after %v, want at once", what, time.Since(start))
			}
			if used, _, _ := w.s.opt.Budget.Usage(); used != 0 {
				t.Errorf("%s: %d bytes charged", what, used)
			}
		}
		w.send(good, frame(1, []byte("fine")))
		expect(t, good, 1, []byte("fine"))
	})
}

func TestApiVersionsOfAnyVersionReachesTheHandler(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { // WIRE-08
		c := w.dial()
		w.send(c, frameOf(wire.KeyAPIVersions, 99, 5, []byte("?")))
		expect(t, c, 5, []byte("?"))
	})
}

func TestOddClientIDs(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { // WIRE-15
		for id, client := range [][]byte{nil, {}, bytes.Repeat([]byte("x"), 32<<10-1)} {
			c := w.dial()
			b := wire.AppendHeader(make([]byte, 4), &wire.Header{Key: keyEcho, CorrelationID: int32(id), ClientID: client})
			binary.BigEndian.PutUint32(b, uint32(len(b)-4))
			go c.Write(b)
			expect(t, c, int32(id), nil)
		}
	})
}

// WIRE-04 and WIRE-05: closed at once, and one line says what it looked like.
func TestWrongDoor(t *testing.T) {
	for want, hello := range map[string]string{
		"TLS":  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"HTTP": "GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
	} {
		inWorld(t, Options{HTTPHint: "127.0.0.1:9644"}, func(w *world) {
			for range 20 {
				c := w.dial()
				c.Write([]byte(hello)) // may be cut off by the close
				w.closed(c)
			}
			synctest.Wait()
			log := w.log.String()
			if n := strings.Count(log, "\n"); n != 1 || !strings.Contains(log, want) || !strings.Contains(log, "listener PLAINTEXT speaks") {
				t.Errorf("%s: %d lines:\n%s", want, n, log)
			}
			if want == "HTTP" && !strings.Contains(log, "127.0.0.1:9644") {
				t.Errorf("no hint of the admin listener in %s", log)
			}
		})
	}
}

// A peer that announces 100 MiB and sends nothing holds little memory, and not
// for long.
func TestHalfSentFrame(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		c := w.dial()
		w.send(c, append(binary.BigEndian.AppendUint32(nil, 100<<20), 0, byte(keyEcho), 0, 0))
		start := time.Now()
		synctest.Wait()
		if used, _, _ := w.s.opt.Budget.Usage(); used > eagerFrame {
			t.Errorf("%d bytes charged for a frame of which 8 arrived", used)
		}
		w.closed(c)
		if d := time.Since(start); d < 29*time.Second || d > 61*time.Second {
			t.Errorf("closed after %v, want 30s to 60s", d)
		}
		synctest.Wait()
		if used, _, _ := w.s.opt.Budget.Usage(); used != 0 {
			t.Errorf("%d bytes still charged", used)
		}
	})
}

// A byte now and then does not keep a frame alive.
func TestTricklingFrame(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		c := w.dial()
		start := time.Now()
		for _, b := range frame(1, make([]byte, 1000)) {
			if _, err := c.Write([]byte{b}); err != nil {
				break
			}
			time.Sleep(time.Second) // fake time
		}
		if d := time.Since(start); d > 61*time.Second {
			t.Errorf("alive for %v, want at most 60s", d)
		}
		w.closed(c)
	})
}

// A pipeline whose reads always end inside a frame makes progress: the time of a
// frame is not that of the one before it.
func TestBusyPipelineIsNotLate(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		c := w.dial()
		var stream []byte
		for id := range int32(101) {
			stream = append(stream, frame(id, []byte("x"))...)
		}
		size := len(stream) / 101
		w.send(c, stream[:size/2])
		for id := range int32(100) {
			time.Sleep(time.Second) // fake time
			at := int(id)*size + size/2
			w.send(c, stream[at:at+size])
			expect(t, c, id, []byte("x"))
		}
	})
}

func TestIdleConnectionIsClosedAndAWaitingOneIsNot(t *testing.T) {
	p := newParker()
	inWorld(t, Options{Handler: p, Limits: limits(Limits{IdleTimeout: 2 * time.Minute})}, func(w *world) {
		idle, waiting := w.dial(), w.dial()
		w.send(waiting, frame(1, []byte("park")))
		r := <-p.parked
		start := time.Now()
		w.closed(idle)
		if d := time.Since(start); d < 2*time.Minute || d > 2*time.Minute+time.Second {
			t.Errorf("idle connection closed after %v, want 2m", d)
		}
		time.Sleep(10 * time.Minute) // fake time
		echo(r)
		expect(t, waiting, 1, []byte("park"))
		start = time.Now()
		w.closed(waiting)
		if d := time.Since(start); d < 2*time.Minute || d > 3*time.Minute {
			t.Errorf("closed %v after its answer, want 2m", d)
		}
	})
}

// A peer that never reads loses its connection and holds bounded memory.
func TestPeerThatNeverReads(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		c := w.dial()
		start := time.Now()
		body := make([]byte, 60<<10)
		for id := int32(0); ; id++ {
			if _, err := c.Write(frame(id, body)); err != nil {
				break
			}
			if id > 10000 {
				t.Fatal("the server takes requests without end")
			}
		}
		if d := time.Since(start); d < 29*time.Second || d > 2*time.Minute {
			t.Errorf("closed after %v, want 30s and a little", d)
		}
	})
}

func TestMaxConnectionsPerIP(t *testing.T) {
	l := Limits{MaxConnectionsPerIP: 2, MaxConnectionsPerIPOverrides: map[netip.Addr]int{netip.MustParseAddr("10.0.0.1"): 5}}.withDefaults()
	if got := l.perIP(netip.MustParseAddr("10.0.0.1")); got != 5 {
		t.Errorf("override gives %d, want 5", got)
	}
	if got := l.perIP(netip.MustParseAddr("10.0.0.2")); got != 2 {
		t.Errorf("limit gives %d, want 2", got)
	}
}

func TestMaxConnectionsWaitsAndIsLive(t *testing.T) {
	var limit atomic.Int64
	limit.Store(1)
	inWorld(t, Options{Limits: func() Limits { return Limits{MaxConnections: int(limit.Load())} }}, func(w *world) {
		a := w.dial()
		w.send(a, frame(1, nil))
		expect(t, a, 1, nil)
		b := w.dial() // in the backlog
		w.send(b, frame(2, nil))
		synctest.Wait()
		if n := w.s.m.connections.Load(); n != 1 {
			t.Fatalf("%d connections, want 1", n)
		}
		limit.Store(2)
		expect(t, b, 2, nil)
	})
}

func TestNegativeIdleTimeoutIsNever(t *testing.T) {
	inWorld(t, Options{Limits: limits(Limits{IdleTimeout: -time.Millisecond})}, func(w *world) {
		c := w.dial()
		time.Sleep(24 * time.Hour) // fake time
		w.send(c, frame(1, nil))
		expect(t, c, 1, nil)
	})
}
