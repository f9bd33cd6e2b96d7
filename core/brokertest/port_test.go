package brokertest

import (
	"errors"
	"net"
	"testing"

	"github.com/mortisemq/mortise/core/vnet"
)

// TestPortStaysTaken: between two listeners of a port nobody else gets it, and who dials
// then is accepted by the second.
func TestPortStaysTaken(t *testing.T) {
	p := takePort(t)
	first, err := p.Listen(p.address())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := first.Accept()
		ended <- err
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("who waited got %v, want that the listener is closed", err)
	}
	if _, err := first.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("who comes after the end got %v, want that the listener is closed", err)
	}
	if l, err := vnet.OS().Listen(p.address()); err == nil {
		l.Close()
		t.Error("somebody else got the port")
	}
	dialed, err := p.Dial(t.Context(), p.address())
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	second, err := p.Listen(p.address())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := second.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if accepted.RemoteAddr().String() != dialed.LocalAddr().String() {
		t.Errorf("accepted %v, want %v", accepted.RemoteAddr(), dialed.LocalAddr())
	}
}
