package adminhttp

import (
	"net"
	"net/netip"
	"testing"
)

func TestLocal(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:9644": true, "http://[::1]:9644/": true, "localhost:9644": true, "0.0.0.0:9644": true,
		"192.0.2.1:9644": false, "http://127.0.0.1@192.0.2.1:9644": false, "https://[2001:db8::1]:9644": false, "": false, "a b": false,
	} {
		if got := Local(t.Context(), address); got != want {
			t.Errorf("%q is local: %v", address, got)
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		host := netip.MustParsePrefix(a.String()).Addr().String()
		if !Local(t.Context(), net.JoinHostPort(host, Port)) {
			t.Errorf("%s is an address of this machine", host)
		}
	}
}
