package local

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are where one node listens, all on one address.
type Ports struct{ Clients, Admin, Peer, Gossip int }

// Ports that are free are looked for below those which systems give to outgoing
// connections, so that none takes one while its node is down.
const (
	freeLow, freeHigh = 10000, 30000
	freeTries         = 1000
)

// host is where nodes listen that have no place of their own.
const host = "127.0.0.1"

// FreePorts finds ports for n nodes.
func FreePorts(n int) ([]Ports, error) {
	taken := map[int]bool{}
	all := make([]Ports, n)
	for i := range all {
		for _, port := range []*int{&all[i].Clients, &all[i].Admin, &all[i].Peer, &all[i].Gossip} {
			free, err := freePort(taken)
			if err != nil {
				return nil, err
			}
			*port = free
		}
	}
	return all, nil
}

// freePort finds one that is not taken and notes it there.
func freePort(taken map[int]bool) (int, error) {
	for range freeTries {
		port := freeLow + rand.IntN(freeHigh-freeLow)
		if !taken[port] && free(port) {
			taken[port] = true
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port from %d to %d", freeLow, freeHigh)
}

// free reports whether nobody listens at a port, by TCP or UDP.
func free(port int) bool {
	at := at(port)
	tcp, err := net.Listen("tcp", at)
	if err != nil {
		return false
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", at)
	if err != nil {
		return false
	}
	udp.Close()
	return true
}

// at is the loopback address of a port.
func at(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// The distances from the port for clients to the others are those of their defaults:
// clients on 9092 have their admin listener on 9644.
const (
	toAdmin  = 9644 - 9092
	toPeer   = 9390 - 9092
	toGossip = 9490 - 9092
)

// PortsFrom are the ports of n nodes in a row: node i has base+i-1 for clients.
func PortsFrom(base, n int) []Ports {
	all := make([]Ports, n)
	for i := range all {
		all[i] = Ports{Clients: base + i, Admin: base + i + toAdmin, Peer: base + i + toPeer, Gossip: base + i + toGossip}
	}
	return all
}

// Taken are those of the ports that somebody listens at already.
func Taken(all []Ports) []int {
	var taken []int
	for _, p := range all {
		for _, port := range []int{p.Clients, p.Admin, p.Peer, p.Gossip} {
			if !free(port) {
				taken = append(taken, port)
			}
		}
	}
	return taken
}
