package wire

import (
	"net/netip"
	"sync/atomic"
)

// ConnInfo is what is known of a connection. Its fields do not change after the
// connection was accepted; the client's software is told later. It is safe for
// concurrent use.
type ConnInfo struct {
	ID        uint64 // unique in this process
	Listener  string // name of the listener that accepted it
	Remote    netip.AddrPort
	Principal string // Kafka's text form; "User:ANONYMOUS" without authentication

	software atomic.Pointer[software]
}

// Anonymous is the principal of a connection that proved nothing.
const Anonymous = "User:ANONYMOUS"

type software struct{ name, version string }

// SetSoftware notes what the client called itself in ApiVersions (KIP-511).
func (c *ConnInfo) SetSoftware(name, version string) {
	c.software.Store(&software{name, version})
}

// Software is the client's name and version, empty until it told them.
func (c *ConnInfo) Software() (name, version string) {
	if s := c.software.Load(); s != nil {
		return s.name, s.version
	}
	return "", ""
}
