package vnet

import (
	"bytes"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// sockets are one for packets on host a and one on host b.
func sockets(t *testing.T, m *Mem) (a, b net.PacketConn) {
	t.Helper()
	a, err := m.Host("a").ListenPacket(":7")
	if err != nil {
		t.Fatal(err)
	}
	if b, err = m.Host("b").ListenPacket("b:7"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestPacketsArriveWholeOrNotAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMem(1)
		a, b := sockets(t, m)
		room := make([]byte, 8)
		for _, cut := range []bool{false, true} {
			if cut {
				m.CutOneWay("a", "b")
			}
			if n, err := a.WriteTo([]byte("hello"), b.LocalAddr()); n != 5 || err != nil {
				t.Errorf("cut %v: sent %d, %v", cut, n, err)
			}
			b.SetReadDeadline(time.Now().Add(time.Second))
			n, from, err := b.ReadFrom(room)
			if cut {
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a packet came over a cut: %q %v", room[:n], err)
				}
			} else if err != nil || !bytes.Equal(room[:n], []byte("hello")) || from.String() != "a:7" {
				t.Errorf("%q from %v, %v", room[:n], from, err)
			}
		}
		if _, err := a.WriteTo([]byte("x"), memAddr("nobody:1")); err != nil {
			t.Errorf("a sender hears that nobody listens: %v", err)
		}
	})
}

func TestPacketsNeverMakeTheSenderWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMem(1)
		a, b := sockets(t, m)
		for i := range 3 * packetsMax {
			if _, err := a.WriteTo([]byte{byte(i)}, b.LocalAddr()); err != nil {
				t.Fatal(err)
			}
		}
		b.SetReadDeadline(time.Now().Add(time.Second))
		got := 0
		for ; ; got++ {
			if _, _, err := b.ReadFrom(make([]byte, 1)); err != nil {
				break
			}
		}
		if got != packetsMax {
			t.Errorf("%d packets waited, want %d", got, packetsMax)
		}
	})
}

func TestPacketsAreDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMem(1)
		m.SetDelay("a", "b", 50*time.Millisecond, 50*time.Millisecond)
		a, b := sockets(t, m)
		start := time.Now()
		if _, err := a.WriteTo([]byte("late"), b.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.ReadFrom(make([]byte, 8)); err != nil || time.Since(start) != 50*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestCloseEndsReadingPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := sockets(t, NewMem(1))
		got := make(chan error)
		go func() {
			_, _, err := a.ReadFrom(make([]byte, 1))
			got <- err
		}()
		synctest.Wait()
		a.Close()
		if err := <-got; !errors.Is(err, net.ErrClosed) {
			t.Errorf("reader: %v", err)
		}
		if _, err := a.WriteTo([]byte("x"), b.LocalAddr()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("writer: %v", err)
		}
	})
}
