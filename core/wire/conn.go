package wire

import (
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// ConnInfo is what the server knows about a client connection. It is safe for
// concurrent use; the fields do not change after the first request.
type ConnInfo struct {
	ID       uint64 // unique in this process
	Listener string // name of the listener that accepted it
	Remote   netip.AddrPort

	// Exchange is for whoever authenticates the client. Only requests that are not
	// pipelined touch it: the server starts none before the last was answered.
	Exchange any

	host     atomic.Pointer[string]
	identity atomic.Pointer[Identity]
	software atomic.Pointer[software]
	tokens   atomic.Bool
}

// Identity is who the client of a connection is. It never changes; a client that
// authenticates anew gets another one.
type Identity struct {
	Type, Name string    // of the principal: User, alice
	Principal  string    // Kafka's text form of both: User:alice
	Groups     []string  // sorted
	Until      time.Time // no request that came later counts; zero: no end

	groups string
}

// NewIdentity makes an identity without end.
func NewIdentity(kind, name string, groups ...string) *Identity {
	i := &Identity{Type: kind, Name: name, Principal: kind + ":" + name, Groups: slices.Sorted(slices.Values(groups))}
	for _, g := range i.Groups {
		i.groups += strconv.Itoa(len(g)) + ":" + g
	}
	return i
}

// GroupsText is one text for the groups, which no other groups have.
func (i *Identity) GroupsText() string { return i.groups }

// Anonymous is the principal of a connection that proved nothing.
const Anonymous = "User:ANONYMOUS"

// AnonymousIdentity is the identity of such a connection.
func AnonymousIdentity() *Identity { return NewIdentity("User", "ANONYMOUS") }

// Host is the client's IP address as text. It allocates once a connection.
func (c *ConnInfo) Host() string {
	if h := c.host.Load(); h != nil {
		return *h
	}
	h := c.Remote.Addr().String()
	c.host.Store(&h)
	return h
}

// Identity is who the client is; nil: it has to authenticate first.
func (c *ConnInfo) Identity() *Identity { return c.identity.Load() }

// SetIdentity says who the client is from the next request on.
func (c *ConnInfo) SetIdentity(i *Identity) { c.identity.Store(i) }

// ExpectTokens makes the next frames bare SASL tokens, without headers, which
// arrive as requests of KeyToken: what SaslHandshake v0 leads to (KIP-43). Call it
// before the handshake is answered, and with false before the last token is.
func (c *ConnInfo) ExpectTokens(yes bool) { c.tokens.Store(yes) }

// ExpectsTokens says whether the next frame is a bare token.
func (c *ConnInfo) ExpectsTokens() bool { return c.tokens.Load() }

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
