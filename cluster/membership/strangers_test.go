package membership

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
)

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
