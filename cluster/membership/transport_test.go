package membership

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/vnet"
)

// TestTransportWaitsForNobody holds that packets and streams that nobody takes cost
// neither memory nor the sender's time, and that Shutdown ends everything.
func TestTransportWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vnet.NewMem(1)
		log := slog.New(slog.DiscardHandler)
		a, err := listen(mem.Host("10.0.0.1"), ":1", "", log)
		if err != nil {
			t.Fatal(err)
		}
		b, err := listen(mem.Host("10.0.0.2"), ":1", "", log)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 * packetsMax {
			if _, err := a.WriteTo([]byte("x"), "10.0.0.2:1"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if n := len(b.received); n != packetsMax {
			t.Errorf("%d packets wait, want %d", n, packetsMax)
		}

		var dialled []net.Conn
		for range streamsMax + 1 {
			c, err := a.DialTimeout("10.0.0.2:1", time.Second)
			if err != nil {
				t.Fatal(err)
			}
			dialled = append(dialled, c)
			synctest.Wait()
			if len(dialled) <= streamsMax {
				<-b.accepted // and nobody closes it
			}
		}
		if _, err := dialled[streamsMax].Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("one stream too many: %v", err)
		}
		if _, err := a.DialTimeout("10.0.0.9:1", time.Second); err == nil {
			t.Error("nobody listens there")
		}
		for _, s := range []*transport{a, b} {
			if err := s.Shutdown(); err != nil {
				t.Error(err)
			}
		}
		if _, err := dialled[0].Read(make([]byte, 1)); err == nil {
			t.Error("a stream outlived its transport")
		}
		if _, err := a.DialTimeout("10.0.0.2:1", time.Second); err == nil {
			t.Error("a transport dials after its end")
		}
	})
}

// TestStreamsBringSoMuch holds that a stream without an end costs streamMax bytes.
func TestStreamsBringSoMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		s := &stream{Conn: here, done: func() {}}
		defer s.Close()
		go func() {
			for chunk := make([]byte, 1<<16); ; {
				if _, err := there.Write(chunk); err != nil {
					return
				}
			}
		}()
		if n, err := io.Copy(io.Discard, s); n != streamMax || !errors.Is(err, ErrTooLong) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

func TestAdvertisedMustBeOfUse(t *testing.T) {
	if s, err := listen(vnet.OS(), "0.0.0.0:0", "", slog.New(slog.DiscardHandler)); err == nil {
		s.Shutdown()
		t.Error("all addresses are nobody's address")
	}
	s, err := listen(vnet.OS(), "0.0.0.0:0", "127.0.0.1:0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if s.advertise.Addr().String() != "127.0.0.1" || s.advertise.Port() == 0 {
		t.Errorf("advertised %v", s.advertise)
	}
}
