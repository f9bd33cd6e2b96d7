package vnet

import (
	"context"
	"net"
)

// Network makes connections. It is safe for concurrent use.
type Network interface {
	Listen(addr string) (net.Listener, error)
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// PacketNetwork carries packets as well: each arrives whole, late, or not at all, and
// a sender hears of none of it.
type PacketNetwork interface {
	Network
	// ListenPacket takes the packets for addr. What is sent to where nobody listens
	// is lost.
	ListenPacket(addr string) (net.PacketConn, error)
}

// OS is the network of the operating system: connections over TCP, packets over UDP.
func OS() PacketNetwork { return osNetwork{} }

type osNetwork struct{}

func (osNetwork) Listen(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }

func (osNetwork) Dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

func (osNetwork) ListenPacket(addr string) (net.PacketConn, error) {
	return net.ListenPacket("udp", addr)
}
