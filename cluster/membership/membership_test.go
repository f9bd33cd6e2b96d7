package membership

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

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
