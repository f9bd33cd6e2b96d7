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

// OS is the network of the operating system, over TCP.
func OS() Network { return osNetwork{} }

type osNetwork struct{}

func (osNetwork) Listen(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }

func (osNetwork) Dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}
