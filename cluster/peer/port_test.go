package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kindTest is a kind for tests.
const kindTest Kind = 200

// listen opens a port of the cluster c in a network of memory, on host "n<id>".
func listen(t testing.TB, net *vnet.Mem, id kafka.BrokerID, cluster string) *Port {
	t.Helper()
	p, err := Listen(Options{Net: net.Host(fmt.Sprint("n", id)), Address: ":9390", Node: id})
	if err != nil {
		t.Fatal(err)
	}
	p.SetCluster(cluster)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// pair are ports of nodes 1 and 2.
func pair(t testing.TB) (network *vnet.Mem, a, b *Port) {
	network = vnet.NewMem(1)
	return network, listen(t, network, 1, "c"), listen(t, network, 2, "c")
}

func echo(_ context.Context, body []byte) ([]byte, error) { return body, nil }

func TestCall(t *testing.T) {
	_, a, b := pair(t)
	b.Handle(kindTest, echo)
	for _, body := range []string{"", "x", strings.Repeat("y", 1<<20)} {
		got, err := a.Call(t.Context(), 2, b.Advertised(), kindTest, []byte(body))
		if err != nil || string(got) != body {
			t.Errorf("%d bytes came back as %d: %v", len(body), len(got), err)
		}
	}
	if where, ok := b.Heard(1); !ok || where != a.Advertised() {
		t.Errorf("node 2 heard that node 1 is at %q, want %q", where, a.Advertised())
	}
	if n := len(a.conns); n != 1 {
		t.Errorf("%d connections for three calls, want 1", n)
	}
}

func TestCallOfTheNodeItselfTakesNoNetwork(t *testing.T) {
	_, a, _ := pair(t)
	a.Handle(kindTest, echo)
	if got, err := a.Call(t.Context(), 1, "nowhere:1", kindTest, []byte("x")); err != nil || string(got) != "x" {
		t.Errorf("%q %v", got, err)
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	_, a, b := pair(t)
	b.Handle(kindTest, func(_ context.Context, body []byte) ([]byte, error) {
		if len(body) > 0 {
			return nil, errors.New("disk on fire")
		}
		return nil, kafka.ErrNotController.Err("ask node 3")
	})
	var refused *kafka.Error
	_, err := a.Call(t.Context(), 2, b.Advertised(), kindTest, nil)
	if !errors.As(err, &refused) || refused.Code != kafka.ErrNotController || refused.Message != "ask node 3" {
		t.Errorf("%v, want NOT_CONTROLLER: ask node 3", err)
	}
	_, err = a.Call(t.Context(), 2, b.Advertised(), kindTest, []byte("x"))
	if !errors.As(err, &refused) || refused.Code != kafka.ErrUnknownServerError || refused.Message != "disk on fire" {
		t.Errorf("%v, want UNKNOWN_SERVER_ERROR: disk on fire", err)
	}
	_, err = a.Call(t.Context(), 2, b.Advertised(), 99, nil)
	if !errors.As(err, &refused) || refused.Code != kafka.ErrBrokerNotAvailable {
		t.Errorf("a kind that nobody handles: %v, want BROKER_NOT_AVAILABLE", err)
	}
}

func TestSlowCallDoesNotHoldOthers(t *testing.T) {
	_, a, b := pair(t)
	release := make(chan struct{})
	b.Handle(kindTest, func(_ context.Context, body []byte) ([]byte, error) {
		if string(body) == "slow" {
			<-release
		}
		return body, nil
	})
	var slow sync.WaitGroup
	for range callsMax - 1 {
		slow.Go(func() {
			if _, err := a.Call(t.Context(), 2, b.Advertised(), kindTest, []byte("slow")); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := a.Call(t.Context(), 2, b.Advertised(), kindTest, nil); err != nil {
		t.Error(err)
	}
	close(release)
	slow.Wait()
}

func TestForeignNodesAreRefused(t *testing.T) {
	network := vnet.NewMem(1)
	a, b := listen(t, network, 1, "red"), listen(t, network, 2, "blue")
	_, err := a.Call(t.Context(), 2, b.Advertised(), KindPing, nil)
	var refused *RefusedError
	if !errors.As(err, &refused) || !errors.Is(err, ErrUnreachable) || refused.Cluster != "blue" || !strings.Contains(err.Error(), `it is of cluster "blue", and node 1 of cluster "red"`) {
		t.Errorf("%v, want a refusal that names both clusters", err)
	}
	a.SetCluster("blue")
	if _, err = a.Call(t.Context(), 3, b.Advertised(), KindPing, nil); !errors.As(err, &refused) || refused.Node != 2 || !strings.Contains(err.Error(), "it is node 2, not node 3") {
		t.Errorf("%v, want a refusal that says who it is", err)
	}
	if _, err = a.Call(t.Context(), kafka.NoBroker, b.Advertised(), KindPing, nil); err != nil {
		t.Errorf("whoever is there: %v", err)
	}
	a.SetCluster("") // a node that joins
	stream := a.Stream()
	defer stream.Close()
	b.Stream()
	if _, err := stream.Dial(t.Context(), 2, b.Advertised()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("a stream without a cluster: %v, want a refusal", err)
	}
}

func TestStream(t *testing.T) {
	_, a, b := pair(t)
	from := a.Stream()
	if _, err := from.Dial(t.Context(), 2, b.Advertised()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("a stream that nobody takes: %v, want a refusal", err)
	}
	to := b.Stream()
	out, err := from.Dial(t.Context(), 2, b.Advertised())
	if err != nil {
		t.Fatal(err)
	}
	in, err := to.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte("entry")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "entry" {
		t.Errorf("%q %v", got, err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(got); err == nil {
		t.Error("the stream lives on after its end was closed")
	}
	if _, err := to.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	if _, err := a.Call(t.Context(), 2, b.Advertised(), KindPing, nil); err != nil {
		t.Errorf("a call after the end of the streams: %v", err)
	}
}

// TestAddressWithoutAnAnswerIsForgotten: where a node was heard of counts before what the
// cluster knows, so it must not outlive the node's stay there; and strangers' addresses
// don't fill the memory.
func TestAddressWithoutAnAnswerIsForgotten(t *testing.T) {
	network, a, b := pair(t)
	call := func(from, to *Port, id kafka.BrokerID) error {
		_, err := from.Call(t.Context(), id, to.Advertised(), KindPing, nil)
		return err
	}
	third := listen(t, network, 3, "c")
	for _, p := range []*Port{b, third} {
		if err := call(p, a, 1); err != nil {
			t.Fatal(err)
		}
	}
	streams := a.Stream()
	defer streams.Close()
	var refused *RefusedError
	if _, err := streams.Dial(t.Context(), 2, b.Advertised()); !errors.As(err, &refused) {
		t.Fatalf("%v, want a refusal: node 2 takes no streams yet", err)
	}
	if where, _ := a.Heard(2); where != b.Advertised() {
		t.Errorf("node 2, which answered, is at %q", where)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := call(a, b, 2); !errors.Is(err, ErrUnreachable) {
		t.Fatal(err)
	}
	if where, ok := a.Heard(2); ok {
		t.Errorf("node 2 is still at %q", where)
	}
	if where, _ := a.Heard(3); where != third.Advertised() {
		t.Errorf("node 3 is at %q", where)
	}
	for id := kafka.BrokerID(5); len(a.heard) < heardMax; id++ {
		a.heard[id] = "elsewhere:1"
	}
	if err := call(listen(t, network, 4, "c"), a, 1); err != nil {
		t.Fatal(err)
	}
	if _, ok := a.Heard(4); ok || len(a.heard) > heardMax {
		t.Errorf("%d addresses are remembered, and %d are allowed", len(a.heard), heardMax)
	}
}

func TestRestartedNodeIsFoundAgain(t *testing.T) {
	network, a, b := pair(t)
	first, err := a.Call(t.Context(), 2, b.Advertised(), KindPing, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for { // until the end of the connection is noticed
		if _, err = a.Call(t.Context(), 2, b.Advertised(), KindPing, nil); !errors.Is(err, ErrLost) {
			break
		}
	}
	if !errors.Is(err, ErrUnreachable) {
		t.Errorf("a node that is down: %v, want ErrUnreachable", err)
	}
	again := listen(t, network, 2, "c")
	second, err := a.Call(t.Context(), 2, again.Advertised(), KindPing, nil)
	if err != nil || string(first) == string(second) {
		t.Errorf("%v, instances %x and %x, want two", err, first, second)
	}
}

// Behind a cut cable a connection stays open. A call must end in time, and the next
// one after the cut must not go down the dead connection.
func TestCutNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, a, b := pair(t)
		call := func() error {
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
			defer stop()
			_, err := a.Call(ctx, 2, b.Advertised(), KindPing, nil)
			return err
		}
		if err := call(); err != nil {
			t.Fatal(err)
		}
		network.Cut("n1", "n2")
		begin := time.Now()
		if err := call(); !errors.Is(err, ErrLost) || time.Since(begin) != 2*time.Second {
			t.Errorf("first call after the cut: %v after %v, want ErrLost after 2 s", err, time.Since(begin))
		}
		synctest.Wait()
		if err := call(); !errors.Is(err, ErrUnreachable) {
			t.Errorf("second call: %v, want ErrUnreachable: the dead connection is not used again", err)
		}
		network.Heal("n1", "n2")
		synctest.Wait()
		if err := call(); err != nil {
			t.Errorf("after the cut: %v", err)
		}
	})
}

func TestStrangersCostLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, _, b := pair(t)
		for _, first := range []string{"", "GET / HTTP/1.1\r\n\r\n", "MRT\x02", "MRT\x02\x07", "MRT\x02\x02\x00\x00"} {
			c, err := network.Host("stranger").Dial(t.Context(), b.Advertised())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte(first)); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("%q was answered", first)
			}
			if took := time.Since(begin); took > helloTimeout {
				t.Errorf("%q: hung up after %v, want %v at most", first, took, helloTimeout)
			}
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.inbound != 0 {
			t.Errorf("%d connections are left, want none", b.inbound)
		}
	})
}

func TestIdleConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t)
		if _, err := a.Call(t.Context(), 2, b.Advertised(), KindPing, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(idleTimeout + time.Second) // of the bubble
		synctest.Wait()
		if len(a.conns) != 0 || len(b.conns) != 0 || len(a.links) != 0 {
			t.Errorf("%d and %d connections, %d links after %v without a call, want none", len(a.conns), len(b.conns), len(a.links), idleTimeout)
		}
		if _, err := a.Call(t.Context(), 2, b.Advertised(), KindPing, nil); err != nil {
			t.Error(err)
		}
	})
}
