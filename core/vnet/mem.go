package vnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Mem is a network in memory between named hosts. Faults act on pairs of hosts,
// one direction at a time:
//
//   - Cut: bytes vanish and dialling waits until the context ends, as behind a
//     dead router; connections stay open. Heal ends it, and Reset breaks the
//     connections that lost bytes, as their peers' kernels would in time.
//   - Delay: bytes arrive later, in order; packets each by itself.
//   - Reset: connections break at once at both ends.
//
// Everything that waits does so on channels and timers, so a Mem works inside a
// testing/synctest bubble. It is safe for concurrent use.
type Mem struct {
	mu        sync.Mutex
	rand      *rand.Rand
	listeners map[memAddr]*memListener
	packets   map[memAddr]*memPackets
	conns     map[*memConn]bool
	cut       map[route]bool
	delays    map[route]delay
	nextPort  int
	healed    chan struct{} // closed and made anew when a route changes
}

// route is one direction between two hosts.
type route struct{ from, to string }

// delay is how long bytes are on their way: between min and max.
type delay struct{ min, max time.Duration }

// NewMem returns a network; seed decides what is left to chance.
func NewMem(seed uint64) *Mem {
	return &Mem{
		rand: rand.New(rand.NewPCG(seed, 0)), listeners: map[memAddr]*memListener{},
		packets: map[memAddr]*memPackets{}, conns: map[*memConn]bool{},
		cut: map[route]bool{}, delays: map[route]delay{}, nextPort: 1024, healed: make(chan struct{}),
	}
}

// Host is the network as one host has it: an address without a host there is
// the host's own.
func (m *Mem) Host(name string) PacketNetwork { return memHost{m, name} }

type memHost struct {
	mem  *Mem
	name string
}

// full completes an address: no host is this one, port 0 is a free one.
func (h memHost) full(addr string) (memAddr, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host == "" || host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		host = h.name
	}
	if port == "0" {
		port = strconv.Itoa(h.mem.port())
	}
	return memAddr(net.JoinHostPort(host, port)), nil
}

// Listen implements Network.
func (h memHost) Listen(addr string) (net.Listener, error) {
	full, err := h.full(addr)
	if err != nil {
		return nil, err
	}
	h.mem.mu.Lock()
	defer h.mem.mu.Unlock()
	if h.mem.listeners[full] != nil {
		return nil, &net.OpError{Op: "listen", Net: "mem", Addr: full, Err: errors.New("address already in use")}
	}
	l := &memListener{mem: h.mem, addr: full, queue: make(chan *memConn, backlogMax), closed: make(chan struct{})}
	h.mem.listeners[full] = l
	return l, nil
}

// Dial implements Network.
func (h memHost) Dial(ctx context.Context, addr string) (net.Conn, error) {
	to, err := h.full(addr)
	if err != nil {
		return nil, err
	}
	from := memAddr(net.JoinHostPort(h.name, strconv.Itoa(h.mem.port())))
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "mem", Source: from, Addr: to, Err: err}
	}
	for {
		l, wait := h.mem.reach(from, to)
		if wait != nil {
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return fail(ctx.Err())
			}
		}
		if l == nil {
			return fail(errRefused)
		}
		client, server := link(h.mem, from, to)
		h.mem.remember(client, server) // before anybody can close or cut it
		select {
		case l.queue <- server:
			return client, nil
		case <-l.closed:
			err = errRefused
		case <-ctx.Done():
			err = ctx.Err()
		}
		h.mem.forget(client)
		h.mem.forget(server)
		return fail(err)
	}
}

// reach finds who listens; wait is not nil while the way there and back is cut.
func (m *Mem) reach(from, to memAddr) (l *memListener, wait <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cut[between(from, to)] || m.cut[between(to, from)] {
		return nil, m.healed
	}
	return m.listeners[to], nil
}

// between is the route from one address to another.
func between(from, to memAddr) route { return route{host(from), host(to)} }

func host(a memAddr) string {
	name, _, _ := strings.Cut(string(a), ":")
	return name
}

// fate says how long bytes take on a route, and whether they get lost.
func (m *Mem) fate(from, to memAddr) (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := between(from, to)
	d := m.delays[r]
	if d.max > d.min {
		d.min += time.Duration(m.rand.Int64N(int64(d.max - d.min)))
	}
	return d.min, m.cut[r]
}

// Cut cuts both directions between two hosts.
func (m *Mem) Cut(a, b string) {
	m.CutOneWay(a, b)
	m.CutOneWay(b, a)
}

// CutOneWay loses what from sends to to.
func (m *Mem) CutOneWay(from, to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut[route{from, to}] = true
}

// Heal ends the cuts between two hosts. Their connections break: a stream that
// has lost bytes has no way to go on.
func (m *Mem) Heal(a, b string) {
	m.mu.Lock()
	lost := m.cut[route{a, b}] || m.cut[route{b, a}]
	delete(m.cut, route{a, b})
	delete(m.cut, route{b, a})
	close(m.healed)
	m.healed = make(chan struct{})
	m.mu.Unlock()
	if lost {
		m.Reset(a, b)
	}
}

// SetDelay makes bytes between two hosts take between min and max, both ways.
func (m *Mem) SetDelay(a, b string, min, max time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delays[route{a, b}], m.delays[route{b, a}] = delay{min, max}, delay{min, max}
}

// Reset breaks every connection between two hosts.
func (m *Mem) Reset(a, b string) {
	m.mu.Lock()
	var broken []*memConn
	for c := range m.conns {
		if r := between(c.local, c.remote); r == (route{a, b}) || r == (route{b, a}) {
			broken = append(broken, c)
		}
	}
	m.mu.Unlock()
	for _, c := range broken {
		c.reset()
	}
}

func (m *Mem) remember(conns ...*memConn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range conns {
		m.conns[c] = true
	}
}

func (m *Mem) forget(c *memConn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.conns, c)
}

func (m *Mem) unlisten(l *memListener) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.listeners, l.addr)
}

// port hands out port numbers; none comes twice.
func (m *Mem) port() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nextPort++
	return m.nextPort
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
