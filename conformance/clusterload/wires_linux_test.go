package clusterload_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mortisemq/mortise/cluster/local"
)

// Of the network.
const (
	packetMax   = 16 << 10 // bytes; few large packets cost the switch less than many small ones
	heldMax     = 8192     // packets that wait on a slow link; a further one is lost
	hostOctet   = 254      // of this process; a node's is its id
	prefixTries = 100
)

// wires is a network of its own for each node, with this process as the switch between:
// it takes each packet that a node or a client sends from a TUN device and hands it to
// the device of whom it is for. A cut link loses packets and says nothing, as a cable
// does; connections stay, and their data come when the link is well again.
type wires struct {
	prefix  [3]byte
	devices map[byte]*os.File // by the last octet of their address
	nets    map[byte]*os.File // keep the networks of the nodes
	rules   linkRules
	running sync.WaitGroup
}

// newWires makes the networks of n nodes, which go with this process. An error says that
// this process may not, or that a tool is missing.
func newWires(t testing.TB, n int) (*wires, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("this is not root")
	}
	v := &wires{devices: map[byte]*os.File{}, nets: map[byte]*os.File{}}
	t.Cleanup(v.close)
	var err error
	if v.prefix, err = freePrefix(); err != nil {
		return nil, err
	}
	if err := v.addHost(); err != nil {
		return nil, err
	}
	for id := 1; id <= n; id++ {
		if err := v.addNode(byte(id)); err != nil {
			return nil, err
		}
	}
	for octet, device := range v.devices {
		v.running.Go(func() { v.take(octet, device) })
	}
	return v, nil
}

// freePrefix finds 256 addresses that this machine has no way to.
func freePrefix() (prefix [3]byte, err error) {
	known, err := net.InterfaceAddrs()
	if err != nil {
		return prefix, err
	}
	for range prefixTries {
		prefix = [3]byte{10, byte(200 + rand.IntN(55)), byte(rand.IntN(256))}
		taken := false
		for _, a := range known {
			if n, ok := a.(*net.IPNet); ok {
				taken = taken || n.Contains(net.IPv4(prefix[0], prefix[1], prefix[2], hostOctet))
			}
		}
		if !taken {
			return prefix, nil
		}
	}
	return prefix, errors.New("no addresses are free")
}

// addHost gives this machine a device, for clients.
func (v *wires) addHost() error {
	device, name, err := newTUN()
	if err != nil {
		return err
	}
	v.devices[hostOctet] = device
	return v.setUp(nil, name, hostOctet)
}

// addNode makes the network of a node.
func (v *wires) addNode(id byte) error {
	type made struct {
		network, device *os.File
		name            string
		err             error
	}
	done := make(chan made)
	go func() {
		runtime.LockOSThread() // for good: a thread in another network serves nothing else, and ends with this goroutine
		var m made
		if m.err = unix.Unshare(unix.CLONE_NEWNET); m.err == nil {
			if m.network, m.err = os.Open("/proc/thread-self/ns/net"); m.err == nil {
				m.device, m.name, m.err = newTUN()
			}
		}
		done <- m
	}()
	m := <-done
	if m.network != nil {
		v.nets[id] = m.network
	}
	if m.err != nil {
		return m.err
	}
	v.devices[id] = m.device
	if err := run(append(v.inside(id), "ip", "link", "set", "lo", "up")...); err != nil {
		return err
	}
	return v.setUp(v.inside(id), m.name, id)
}

// newTUN makes a device in the network of this thread.
func newTUN() (*os.File, string, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, "", fmt.Errorf("/dev/net/tun: %w", err)
	}
	q, err := unix.NewIfreq("mortise%d")
	if err == nil {
		q.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, q)
	}
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("make a TUN device: %w", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), q.Name()), q.Name(), nil
}

// setUp gives a device its address.
func (v *wires) setUp(inside []string, name string, octet byte) error {
	address := net.IPv4(v.prefix[0], v.prefix[1], v.prefix[2], octet).String() + "/24"
	for _, args := range [][]string{
		{"ip", "address", "add", address, "dev", name},
		{"ip", "link", "set", name, "mtu", fmt.Sprint(packetMax), "up"},
	} {
		if err := run(append(inside[:len(inside):len(inside)], args...)...); err != nil {
			return err
		}
	}
	return nil
}

// inside is a command that runs another one in a node's network, and becomes it.
func (v *wires) inside(id byte) []string {
	return []string{"nsenter", fmt.Sprintf("--net=/proc/%d/fd/%d", os.Getpid(), v.nets[id].Fd())}
}

// run runs a command that prints only what is wrong.
func run(args ...string) error {
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, out)
	}
	return nil
}

// place is where a node is to run, with its data on a disk.
func (v *wires) place(id int32, disk string) local.Place {
	return local.Place{Host: net.IPv4(v.prefix[0], v.prefix[1], v.prefix[2], byte(id)).String(), Inside: v.inside(byte(id)), Disk: disk}
}

// take hands on what one device sends, until it is closed.
func (v *wires) take(from byte, device *os.File) {
	held := map[byte]*heldLink{}
	defer func() {
		for _, h := range held {
			close(h.packets)
		}
	}()
	packet := make([]byte, packetMax)
	for {
		n, err := device.Read(packet)
		if err != nil {
			return
		}
		if n < 20 || packet[0]>>4 != 4 {
			continue // not IPv4
		}
		to := packet[19]
		target := v.devices[to]
		cut, delay := v.rules.of(int32(from), int32(to))
		if target == nil || cut {
			continue
		}
		h := held[to]
		if delay == 0 && (h == nil || len(h.packets) == 0) {
			target.Write(packet[:n]) //nolint:errcheck // a network loses packets
			continue
		}
		if h == nil {
			h = &heldLink{packets: make(chan heldPacket, heldMax)}
			held[to] = h
			v.running.Go(func() { h.deliver(target) })
		}
		select {
		case h.packets <- heldPacket{due: time.Now().Add(delay), bytes: append([]byte(nil), packet[:n]...)}:
		default: // the link is full
		}
	}
}

// heldLink is the packets that are under way on a slow link.
type heldLink struct{ packets chan heldPacket }

type heldPacket struct {
	due   time.Time
	bytes []byte
}

// deliver hands packets on when they are due.
func (h *heldLink) deliver(to io.Writer) {
	for p := range h.packets {
		if wait := time.Until(p.due); wait > 0 {
			<-time.After(wait)
		}
		to.Write(p.bytes) //nolint:errcheck // a network loses packets
	}
}

// close ends the network.
func (v *wires) close() {
	for _, d := range v.devices {
		d.Close()
	}
	v.running.Wait()
	for _, n := range v.nets {
		n.Close()
	}
}
