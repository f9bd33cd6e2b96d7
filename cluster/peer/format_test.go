package peer

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vnet"
)

// Nodes that write decisions in different forms refuse each other, streams and calls, and
// both learn why.
func TestOtherFormatIsRefused(t *testing.T) {
	network := vnet.NewMem(1)
	var ports []*Port
	for n, format := range []uint16{3, 4} {
		p, err := Listen(Options{Net: network.Host([]string{"n1", "n2"}[n]), Address: ":9390", Node: kafka.BrokerID(n + 1), Format: format})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close() //nolint:errcheck // the test is over
		p.SetCluster("c")
		ports = append(ports, p)
	}
	for at, want := range []string{
		"its build writes decisions in form 4, and that of node 1 in form 3: all nodes of a cluster need one build",
		"its build writes decisions in form 3, and that of node 2 in form 4: all nodes of a cluster need one build",
	} {
		from, to := ports[at], ports[1-at]
		to.Stream()
		var refused *RefusedError
		_, err := from.Call(t.Context(), to.Node(), to.Advertised(), KindPing, nil)
		if !errors.As(err, &refused) || !refused.Format || !strings.Contains(err.Error(), want) {
			t.Errorf("a call: %v, want %s", err, want)
		}
		stream := from.Stream()
		if _, err := stream.Dial(t.Context(), to.Node(), to.Advertised()); !errors.As(err, &refused) || !refused.Format {
			t.Errorf("a stream: %v, want a refusal for the format", err)
		}
	}
}

// Whoever speaks another version is told so in the form that every version reads, and one
// that hangs up at the first word is said to be perhaps of another build.
func TestOtherVersionIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, a, b := pair(t)
		c, err := network.Host("n3").Dial(t.Context(), b.Advertised())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close() //nolint:errcheck // the test is over
		old := (&hello{purpose: purposeCalls, from: 3, to: 2, cluster: "c"}).encode()
		old[len(helloMagic)] = 1
		if _, err := c.Write(old); err != nil {
			t.Fatal(err)
		}
		w, err := readWelcome(c)
		if err != nil || w.status != statusRefused || w.node != 2 || !strings.Contains(w.reason, "it speaks version 2 between nodes, and you speak 1") {
			t.Errorf("%+v, %v; want a refusal with both versions", w, err)
		}

		l, err := network.Host("n4").Listen(":9390")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() //nolint:errcheck // the test is over
		for _, heard := range []bool{false, true} {
			go func() {
				if c, err := l.Accept(); err == nil {
					if heard {
						_, _ = c.Read(make([]byte, 1))
					}
					_ = c.Close()
				}
			}()
			if _, err := a.Call(t.Context(), 4, "n4:9390", KindPing, nil); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "or one of another build") {
				t.Errorf("one that hangs up, after it has heard something %v: %v", heard, err)
			}
		}
	})
}
