package broker

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/mortisemq/mortise/core/meta"
)

// Listener is an address for clients.
type Listener struct {
	Name    string // for example PLAINTEXT; unique
	Address string // host:port to bind; port 0: any free one

	// AdvertisedHost and AdvertisedPort are what clients are told. An empty host
	// is the one of Address, port 0 the one that was bound.
	AdvertisedHost string
	AdvertisedPort int32

	SASL *SASL // nil: clients are anonymous
}

// checkListeners returns all that is wrong with the listeners.
func checkListeners(listeners []Listener) error {
	if len(listeners) == 0 {
		return errors.New("no listener: clients could not connect")
	}
	var errs []error
	seen := map[string]bool{}
	for _, l := range listeners {
		if l.Name == "" {
			errs = append(errs, fmt.Errorf("the listener at %s has no name", l.Address))
		}
		if seen[l.Name] {
			errs = append(errs, fmt.Errorf("two listeners are called %s", l.Name))
		}
		seen[l.Name] = true
		errs = append(errs, l.check(), l.SASL.check(l.Name))
	}
	return errors.Join(errs...)
}

// check returns what is wrong with one listener.
func (l Listener) check() error {
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		return fmt.Errorf("listener %s: address %q: want host:port, for example 127.0.0.1:9092: %w", l.Name, l.Address, err)
	}
	if l.AdvertisedHost != "" {
		host = l.AdvertisedHost
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		return fmt.Errorf("listener %s: clients would be told to connect to %q, which is no address of this machine; "+
			"advertise the name or address that they reach it by, for example broker1.example.com:9092 or 192.0.2.10:9092",
			l.Name, net.JoinHostPort(host, strconv.Itoa(int(l.AdvertisedPort))))
	}
	return nil
}

// endpoint is what clients are told of a listener that is bound to the address.
func (l Listener) endpoint(bound net.Addr) (meta.Endpoint, error) {
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		return meta.Endpoint{}, fmt.Errorf("listener %s: %w", l.Name, err)
	}
	if l.AdvertisedHost != "" {
		host = l.AdvertisedHost
	}
	port := l.AdvertisedPort
	if port == 0 {
		_, digits, err := net.SplitHostPort(bound.String())
		if err != nil {
			return meta.Endpoint{}, fmt.Errorf("listener %s: bound address: %w", l.Name, err)
		}
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil {
			return meta.Endpoint{}, fmt.Errorf("listener %s: bound port: %w", l.Name, err)
		}
		port = int32(n)
	}
	return meta.Endpoint{Listener: l.Name, Host: host, Port: port}, nil
}
