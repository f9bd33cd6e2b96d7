package server

import (
	"net"
	"syscall"
	"testing"
)

// buffers are the sizes of a tuned socket as the system has them.
func buffers(t *testing.T, l Limits) (send, receive int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	nc, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l = l.withDefaults()
	l.tune(nc)
	raw, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed [2]error
	if err := raw.Control(func(fd uintptr) {
		send, failed[0] = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
		receive, failed[1] = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
	}); err != nil || failed[0] != nil || failed[1] != nil {
		t.Fatal(err, failed)
	}
	return send, receive
}

// A consumer's queue in the kernel is bounded, whatever the system would give.
func TestSendBufferIsBounded(t *testing.T) {
	size, _ := buffers(t, Limits{})
	if size < sendBufferBytes/4 || size > 2*sendBufferBytes {
		t.Errorf("SO_SNDBUF is %d, want up to %d: the kernel chooses by itself", size, 2*sendBufferBytes)
	}
}

// Sizes that people set are those of the socket, which the system may double for its own
// needs; a negative one leaves the choice to the system.
func TestBuffersAreAsSet(t *testing.T) {
	const small = 32 << 10
	systemSend, systemReceive := buffers(t, Limits{SendBufferBytes: -1})
	send, receive := buffers(t, Limits{SendBufferBytes: small, ReceiveBufferBytes: small})
	if send < small || send > 2*small || receive < small || receive > 2*small {
		t.Errorf("buffers of %d and %d, want %d or the double", send, receive, small)
	}
	if systemSend == send || systemReceive == receive {
		t.Errorf("the system's choice is %d and %d, as if it had been set", systemSend, systemReceive)
	}
}

func TestTuneLeavesOtherNetworksAlone(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	l := Limits{}.withDefaults()
	l.tune(a)
	go a.Write([]byte{1}) // the reader tells
	if _, err := b.Read(make([]byte, 1)); err != nil {
		t.Errorf("a pipe after tune: %v", err)
	}
}
