package membership

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vnet"
)

// world is some nodes on a network in memory.
type world struct {
	t     *testing.T
	net   *vnet.Mem
	sent  atomic.Int64 // packets
	log   lockedBuffer
	nodes map[int]*Membership

	mu        sync.Mutex
	suspected []string // "by:whom"; guarded by mu
}

// lockedBuffer is a buffer that many log into.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newWorld(t *testing.T) *world {
	return &world{t: t, net: vnet.NewMem(1), nodes: map[int]*Membership{}}
}

// host is the name of node n's host.
func host(n int) string { return fmt.Sprintf("10.0.0.%d", n) }

// address is where node n gossips.
func address(n int) string { return host(n) + ":7946" }

// counted counts the packets that a host sends.
type counted struct {
	vnet.PacketNetwork
	sent *atomic.Int64
}

type countedConn struct {
	net.PacketConn
	sent *atomic.Int64
}

func (c counted) ListenPacket(addr string) (net.PacketConn, error) {
	p, err := c.PacketNetwork.ListenPacket(addr)
	return countedConn{p, c.sent}, err
}

func (c countedConn) WriteTo(b []byte, to net.Addr) (int, error) {
	c.sent.Add(1)
	return c.PacketConn.WriteTo(b, to)
}

// options are those of node n, which knows node 1.
func (w *world) options(n int) Options {
	return Options{
		Net: counted{w.net.Host(host(n)), &w.sent}, Listen: ":7946", Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Facts: Facts{ID: kafka.BrokerID(n), Instance: [16]byte{byte(n)}, ClusterID: "c", Peer: host(n) + ":9390", Rack: fmt.Sprintf("r%d", n)},
		Seeds: func(context.Context, func(kafka.BrokerID) bool) []string { return []string{address(1)} },
		Suspected: func(id kafka.BrokerID) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.suspected = append(w.suspected, fmt.Sprintf("%d:%d", n, id))
		},
	}
}

// start starts nodes; change adapts their options.
func (w *world) start(change func(n int, o *Options), ids ...int) {
	w.t.Helper()
	for _, n := range ids {
		o := w.options(n)
		if change != nil {
			change(n, &o)
		}
		m, err := Start(o)
		if err != nil {
			w.t.Fatal(err)
		}
		w.nodes[n] = m
	}
}

// stop stops a node as a crash does.
func (w *world) stop(n int) {
	w.t.Helper()
	if err := w.nodes[n].Close(); err != nil {
		w.t.Error(err)
	}
	delete(w.nodes, n)
}

// close stops all nodes and waits for what the library still has under way.
func (w *world) close() {
	for n := range w.nodes {
		w.stop(n)
	}
	time.Sleep(time.Minute)
}

// alive are the nodes that n takes for alive.
func (w *world) alive(n int) (ids []int) {
	for _, m := range w.nodes[n].Members() {
		if m.State == Alive {
			ids = append(ids, int(m.ID))
		}
	}
	return ids
}

// wantAlive wants node n to see exactly these others alive.
func (w *world) wantAlive(n int, ids ...int) {
	w.t.Helper()
	if got := w.alive(n); !slices.Equal(got, ids) {
		w.t.Errorf("node %d sees %v, want %v", n, got, ids)
	}
}

// wantAll wants every node to see all the others alive.
func (w *world) wantAll() {
	w.t.Helper()
	for n := range w.nodes {
		var others []int
		for o := range w.nodes {
			if o != n {
				others = append(others, o)
			}
		}
		slices.Sort(others)
		w.wantAlive(n, others...)
	}
}

// losses empties and returns what was suspected, each once.
func (w *world) losses() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.suspected
	w.suspected = nil
	slices.Sort(all)
	return slices.Compact(all)
}
