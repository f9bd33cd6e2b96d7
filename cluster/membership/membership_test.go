package membership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

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

func TestNodesFindAndMissEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		w.start(nil, 1, 2, 3, 4)
		time.Sleep(3 * time.Second)
		w.wantAll()
		m, ok := w.nodes[2].Find(3)
		if !ok || m.Peer != host(3)+":9390" || m.Rack != "r3" || m.Gossip.String() != address(3) {
			t.Errorf("node 2 knows of node 3: %+v", m)
		}
		if err := w.nodes[3].Update(func(f *Facts) { f.Plugins = 77 }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if m, _ := w.nodes[1].Find(3); m.Plugins != 77 {
			t.Errorf("news did not arrive: %+v", m)
		}

		w.stop(4)
		time.Sleep(2500 * time.Millisecond)
		if got, want := w.losses(), []string{"1:4", "2:4", "3:4"}; !slices.Equal(got, want) {
			t.Errorf("2.5 s after a crash: lost %v, want %v", got, want)
		}
		if err := w.nodes[3].Leave(t.Context()); err != nil {
			t.Error(err)
		}
		w.stop(3)
		time.Sleep(2 * time.Second)
		if m, _ := w.nodes[1].Find(3); m.State != Left {
			t.Errorf("node 3 went in order and is %v", m.State)
		}
		w.wantAlive(1, 2)
	})
}

// A node that starts again, soon, on the same or another address, is found.
func TestNodeThatComesBack(t *testing.T) {
	for _, port := range []string{":7946", ":7950"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.close()
			w.start(nil, 1, 2, 3)
			time.Sleep(3 * time.Second)
			w.stop(3)
			w.start(func(_ int, o *Options) { o.Listen, o.Facts.Instance[0] = port, 99 }, 3)
			time.Sleep(2 * syncInterval)
			w.wantAll()
			for _, n := range []int{1, 2} {
				if m, _ := w.nodes[n].Find(3); m.Instance[0] != 99 || !strings.HasSuffix(m.Gossip.String(), port) {
					t.Errorf("node %d knows %+v", n, m)
				}
			}
		})
	}
}

// A cut that lasts longer than the library remembers the dead heals by itself (GOSS-01).
func TestLongSplitHeals(t *testing.T) {
	for _, left := range [][]int{{1}, {4}, {1, 2}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.close()
			w.start(nil, 1, 2, 3, 4)
			time.Sleep(3 * time.Second)
			both := func(f func(a, b string)) {
				for _, a := range left {
					for b := 1; b <= 4; b++ {
						if !slices.Contains(left, b) {
							f(host(a), host(b))
						}
					}
				}
			}
			both(w.net.Cut)
			time.Sleep(4 * remembered)
			w.wantAlive(left[0], left[1:]...)
			both(w.net.Heal)
			time.Sleep(2 * RejoinInterval)
			w.wantAll()
		})
	}
}

// A node that sends and does not hear is the only one that is missed for good, and
// makes no storm (GOSS-04).
func TestDeafNodeHarmsOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		w.start(nil, 1, 2, 3, 4, 5)
		time.Sleep(10 * time.Second)
		w.wantAll()
		w.losses()
		count := func(d time.Duration) int64 {
			before := w.sent.Load()
			time.Sleep(d)
			return w.sent.Load() - before
		}
		quiet := count(time.Minute)
		for n := 1; n < 5; n++ {
			w.net.CutOneWay(host(n), host(5))
		}
		loud := count(time.Minute)
		if got, want := w.losses(), []string{"1:5", "2:5", "3:5", "4:5", "5:1", "5:2", "5:3", "5:4"}; !slices.Equal(got, want) {
			t.Errorf("lost %v, want %v", got, want)
		}
		w.wantAlive(1, 2, 3, 4)
		if loud > 2*quiet {
			t.Errorf("%d packets a minute with a deaf node, %d without", loud, quiet)
		}
		t.Logf("%d packets a minute, %d with a deaf node", quiet, loud)
	})
}

// A node that is said to be dead and objects, again and again, is looked at by one
// goroutine: who makes others say so must not make this node work.
func TestDoubtIsOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		w.start(nil, 1, 2)
		time.Sleep(3 * time.Second)
		m := w.nodes[1]
		other, _ := m.Find(2)
		before := w.sent.Load()
		for range 1000 {
			m.doubt(other)
			m.settle(other)
		}
		m.doubt(other)
		time.Sleep(10 * time.Millisecond)
		if n := w.sent.Load() - before; n == 0 || n > 20 {
			t.Errorf("%d packets about one node", n)
		}
		doubts := func() int {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.doubted)
		}
		if n := doubts(); n != 1 {
			t.Errorf("%d doubts", n)
		}
		m.settle(other)
		time.Sleep(2 * doubtInterval)
		if n := doubts(); n != 0 {
			t.Errorf("%d doubts of a node that is alive", n)
		}
	})
}

func TestKeysRotateWhileNodesTalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		old, next := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 16)
		w.start(func(_ int, o *Options) { o.Keys = [][]byte{old} }, 1, 2, 3)
		w.start(func(_ int, o *Options) { o.Keys = [][]byte{next} }, 4) // has a key that nobody knows yet
		w.start(nil, 5)                                                 // has none
		time.Sleep(3 * time.Second)
		w.wantAlive(1, 2, 3)
		w.wantAlive(4)
		w.wantAlive(5)
		for _, ring := range [][][]byte{{old, next}, {next, old}, {next}} {
			for n := 1; n <= 3; n++ {
				if err := w.nodes[n].SetKeys(ring); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
			}
		}
		time.Sleep(2 * RejoinInterval)
		w.wantAlive(1, 2, 3, 4)
		for _, lost := range w.losses() {
			if !strings.HasSuffix(lost, ":4") { // which can't read the old key, and is heard before it hears
				t.Errorf("the rotation lost %s", lost)
			}
		}
		if h := w.nodes[1].Health(); !h.Encrypted || h.Keys != 1 || h.Members != 4 {
			t.Errorf("health %+v", h)
		}
		for _, c := range []struct {
			node int
			keys [][]byte
		}{{1, nil}, {5, [][]byte{old}}, {1, [][]byte{{1, 2, 3}}}, {1, slices.Repeat([][]byte{old}, keysMax+1)}} {
			if err := w.nodes[c.node].SetKeys(c.keys); !errors.Is(err, ErrKeys) {
				t.Errorf("node %d, %d keys: %v", c.node, len(c.keys), err)
			}
		}
	})
}

func TestStrangersAreKeptOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		err    error
		text   string
	}{
		{"foreign cluster", func(o *Options) { o.Facts.ClusterID = "other" }, ErrForeign, "belongs to cluster c, this node to other"},
		{"same id", func(o *Options) { o.Facts.ID = 2 }, ErrDuplicate, "node 2 runs at 10.0.0.2:9390 already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.close()
				w.start(nil, 1, 2)
				time.Sleep(3 * time.Second)
				o := w.options(7)
				o.Seeds = nil
				c.change(&o)
				m, err := Start(o)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				err = m.Join(netip.MustParseAddrPort(address(1)))
				if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("joining: %v", err)
				}
				time.Sleep(time.Minute)
				w.wantAlive(1, 2)
				w.wantAlive(2, 1)
				if got := w.losses(); len(got) != 0 {
					t.Errorf("lost %v", got)
				}
			})
		})
	}
}

// A stranger who is turned away here says nothing about why a node can't be reached.
func TestStrangerIsNotTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		w.start(nil, 1)
		stranger := w.options(7).Facts
		stranger.ClusterID = "other"
		meta, err := stranger.encode()
		if err != nil {
			t.Fatal(err)
		}
		w.net.Cut(host(1), host(2))
		time.AfterFunc(time.Second, func() { // while the dialling below waits
			err := delegate{w.nodes[1]}.NotifyMerge([]*memberlist.Node{{Name: "7", Meta: meta}})
			if !errors.Is(err, ErrForeign) {
				t.Errorf("a stranger comes: %v", err)
			}
		})
		if err := w.nodes[1].Join(netip.MustParseAddrPort(address(2))); err == nil || errors.Is(err, ErrForeign) {
			t.Errorf("a node that is behind a cut: %v", err)
		}
	})
}

// TestOverTheSystem runs two nodes over UDP and TCP.
func TestOverTheSystem(t *testing.T) {
	var nodes []*Membership
	for n := range 2 {
		m, err := Start(Options{Listen: "127.0.0.1:0", Facts: Facts{ID: kafka.BrokerID(n), Instance: [16]byte{byte(n)}, Peer: "h:1"},
			Keys: [][]byte{make([]byte, 32)}})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		nodes = append(nodes, m)
	}
	if err := nodes[0].Join(nodes[1].Address()); err != nil {
		t.Fatal(err)
	}
	if m, ok := nodes[0].Find(1); !ok || m.State != Alive || m.Peer != "h:1" {
		t.Errorf("node 0 knows %+v", m)
	}
}
