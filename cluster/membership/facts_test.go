package membership

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/hashicorp/memberlist"
)

// hostile are facts that nobody may believe.
func hostile() map[string][]byte {
	encode := func(v any) []byte {
		b, err := cbor.Marshal(v)
		if err != nil {
			panic(err)
		}
		return b
	}
	return map[string][]byte{
		"nothing":          {},
		"no CBOR":          []byte("hello"),
		"negative id":      encode(map[int]any{1: -1, 4: "h:1"}),
		"huge id":          encode(map[int]any{1: 1 << 40, 4: "h:1"}),
		"no address":       encode(map[int]any{1: 9}),
		"address":          encode(map[int]any{1: 9, 4: "h"}),
		"port":             encode(map[int]any{1: 9, 4: "h:0"}),
		"long rack":        encode(map[int]any{1: 9, 4: "h:1", 6: strings.Repeat("r", rackMax+1)}),
		"control bytes":    encode(map[int]any{1: 9, 4: "h:1", 6: "a\nb"}),
		"two of one field": {0xa2, 0x01, 0x09, 0x01, 0x09},
		"many fields":      append([]byte{0xb9, 0xff, 0xff}, make([]byte, 400)...),
		"deep":             bytes.Repeat([]byte{0x81}, 500),
		"too long":         append(encode(map[int]any{1: 9, 4: "h:1"}), make([]byte, FactsMax)...),
	}
}

func TestHostileFactsAreRefused(t *testing.T) {
	for name, b := range hostile() {
		if f, err := decodeFacts(b); !errors.Is(err, ErrFacts) || f != (Facts{}) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

func TestFactsOfLaterBuildsAreRead(t *testing.T) {
	b, err := cbor.Marshal(map[int]any{1: 9, 4: "h:1", 30: "news"})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := decodeFacts(b); err != nil || f.ID != 9 || f.Peer != "h:1" {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestFactsThatDoNotFitStopTheStart(t *testing.T) {
	f := Facts{ID: 1, Peer: "h:1", Admin: strings.Repeat("a", 250) + ":1", Rack: strings.Repeat("r", rackMax), ClusterID: "c"}
	if _, err := f.encode(); err != nil {
		t.Errorf("facts that fit: %v", err)
	}
	f.Peer = strings.Repeat("p", 250) + ":1"
	if _, err := Start(Options{Listen: "127.0.0.1:0", Facts: f}); err == nil || !strings.Contains(err.Error(), "512 are allowed") {
		t.Errorf("start: %v", err)
	}
}

// TestHostileMembersAreIgnored lets a member with any facts at all talk to a real one.
func TestHostileMembersAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		w.start(nil, 1, 2)
		time.Sleep(3 * time.Second)
		for name, b := range hostile() {
			if len(b) > FactsMax { // the library itself does not send them
				continue
			}
			transport, err := listen(w.net.Host(host(9)), ":0", "", w.nodes[1].log)
			if err != nil {
				t.Fatal(err)
			}
			c := memberlist.DefaultLANConfig()
			c.Name, c.Transport, c.Delegate, c.Logger = "9", transport, liar{b}, newLogger(w.nodes[1].log)
			l, err := memberlist.Create(c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Join([]string{address(1)}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			time.Sleep(time.Second)
			w.wantAlive(1, 2)
			w.wantAlive(2, 1)
			if err := l.Shutdown(); err != nil {
				t.Error(err)
			}
			time.Sleep(linesWindow) // else their lines are too many
		}
		if !strings.Contains(w.log.String(), "ignoring alive message for '9': malformed node facts") {
			t.Errorf("nothing is said of it: %s", w.log.String())
		}
	})
}

// liar is a member that says what it likes.
type liar struct{ meta []byte }

func (l liar) NodeMeta(int) []byte           { return l.meta }
func (liar) NotifyMsg([]byte)                {}
func (liar) GetBroadcasts(int, int) [][]byte { return nil }
func (liar) LocalState(bool) []byte          { return nil }
func (liar) MergeRemoteState([]byte, bool)   {}

func FuzzDecodeFacts(f *testing.F) {
	for _, b := range hostile() {
		f.Add(b)
	}
	good := Facts{ID: 3, ClusterID: "c", Peer: "h:1", Admin: "h:2", Rack: "r", Plugins: 5, Leaving: true}
	b, err := good.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		facts, err := decodeFacts(b)
		if err != nil {
			if !errors.Is(err, ErrFacts) {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := facts.encode()
		if err != nil {
			t.Fatalf("facts that were read can't be written: %v", err)
		}
		if same, err := decodeFacts(again); err != nil || same != facts {
			t.Errorf("%+v became %+v, %v", facts, same, err)
		}
	})
}
