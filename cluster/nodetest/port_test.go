package nodetest

import (
	"net/netip"
	"testing"

	"github.com/mortisemq/mortise/cluster/local"
)

// TestPortsStayTaken: nobody who looks for free ports is given those of a node that is
// down.
func TestPortsStayTaken(t *testing.T) {
	n := Start(t, Options{Peer: anyPort})
	n.Stop()
	for _, address := range []string{n.Addr(), n.PeerAddr()} {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			t.Fatal(err)
		}
		if taken := local.Taken([]local.Ports{{Clients: int(at.Port())}}); len(taken) != 1 {
			t.Errorf("the port of %s is there for others", address)
		}
	}
}
