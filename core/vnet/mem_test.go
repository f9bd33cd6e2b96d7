package vnet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// dialed is a connection from host a to host b of a network.
func dialed(t *testing.T, m *Mem) (a, b net.Conn) {
	t.Helper()
	l, err := m.Host("b").Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	a, err = m.Host("a").Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close(); l.Close() })
	return a, b
}

func TestCarriesBytesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMem(1)
		m.SetDelay("a", "b", time.Millisecond, 50*time.Millisecond)
		a, b := dialed(t, m)
		want := make([]byte, 3*pipeBytesMax) // more than the network holds: the writer waits
		for i := range want {
			want[i] = byte(i * 7)
		}
		go func() {
			for rest := want; len(rest) > 0; rest = rest[min(len(rest), 1000):] {
				if _, err := a.Write(rest[:min(len(rest), 1000)]); err != nil {
					t.Error(err)
				}
			}
			a.Close()
		}()
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := dialed(t, NewMem(1))
		start := time.Now()
		a.SetReadDeadline(start.Add(time.Second))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		a.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(time.Minute)
			a.SetReadDeadline(time.Now()) // moved while a Read waits
		}()
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("moved deadline: %v", err)
		}
		b.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := b.Write(make([]byte, 2*pipeBytesMax)); n != pipeBytesMax || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a peer that never reads: wrote %d, %v", n, err)
		}
	})
}

func TestCloseWakesBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := dialed(t, NewMem(1))
		errs := make(chan error, 2)
		for _, c := range []net.Conn{a, b} {
			go func() {
				_, err := c.Read(make([]byte, 1))
				errs <- err
			}()
		}
		synctest.Wait()
		a.Close()
		first, second := <-errs, <-errs
		if !errors.Is(errors.Join(first, second), net.ErrClosed) || !errors.Is(errors.Join(first, second), io.EOF) {
			t.Errorf("%v and %v; want closed here, end there", first, second)
		}
		if _, err := b.Write([]byte("x")); err == nil {
			t.Error("a write to a closed peer was taken")
		}
	})
}

func TestCutLosesOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMem(1)
		a, b := dialed(t, m)
		m.CutOneWay("a", "b")
		if _, err := a.Write([]byte("lost")); err != nil {
			t.Errorf("a sender does not notice a cut: %v", err)
		}
		if _, err := b.Write([]byte("back")); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4)
		if _, err := io.ReadFull(a, got); err != nil || string(got) != "back" {
			t.Errorf("the other way: %q, %v", got, err)
		}
		b.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := b.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("something came through: %v", err)
		}
		b.SetReadDeadline(time.Time{})
		m.Heal("a", "b")
		if _, err := b.Read(got); err == nil {
			t.Error("a stream with a hole went on")
		}
	})
}

func TestDialWaitsBehindACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMem(1)
		l, err := m.Host("b").Listen("b:9092")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		m.Cut("a", "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Host("a").Dial(ctx, "b:9092"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want a timeout", err)
		}
		time.AfterFunc(time.Minute, func() { m.Heal("b", "a") })
		c, err := m.Host("a").Dial(t.Context(), "b:9092")
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if _, err := m.Host("a").Dial(t.Context(), "c:1"); !errors.Is(err, errRefused) {
			t.Errorf("nobody listens: %v", err)
		}
	})
}

// TestUnacceptedConnectionsBreakWithTheirListener holds that a dialler does not wait
// for ever for somebody who went away, and that nothing of it stays.
func TestUnacceptedConnectionsBreakWithTheirListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMem(1)
		l, err := m.Host("a").Listen(":9")
		if err != nil {
			t.Fatal(err)
		}
		c, err := m.Host("b").Dial(t.Context(), "a:9")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, errReset) {
			t.Errorf("read from a connection that nobody accepted: %v", err)
		}
		_ = c.Close()
		if _, err := m.Host("b").Dial(t.Context(), "a:9"); !errors.Is(err, errRefused) {
			t.Errorf("dial after the listener: %v", err)
		}
		if n := len(m.conns); n != 0 {
			t.Errorf("%d connections are remembered", n)
		}
	})
}

// TestAWriteThatIsDoneStaysDone holds that a reader that takes everything and goes does
// not make the writer fail, as no kernel does.
func TestAWriteThatIsDoneStaysDone(t *testing.T) {
	p, d := newPipe(), newDeadline()
	n, err := p.write([]byte("x"), func() (time.Duration, bool) {
		p.broken = errReset // the reader, just after the bytes are in
		return 0, false
	}, d)
	if n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := p.write([]byte("y"), nil, d); !errors.Is(err, errReset) {
		t.Errorf("the next write: %v", err)
	}
}
