package server

import (
	"net"
	"syscall"
	"testing"
)

// A consumer's queue in the kernel is bounded, whatever the system would give.
func TestSendBufferIsBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	tune(nc)
	raw, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var size int
	var failed error
	if err := raw.Control(func(fd uintptr) {
		size, failed = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if size < sendBufferBytes/4 || size > 2*sendBufferBytes {
		t.Errorf("SO_SNDBUF is %d, want up to %d: the kernel chooses by itself", size, 2*sendBufferBytes)
	}
}

func TestTuneLeavesOtherNetworksAlone(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	tune(a)
	go a.Write([]byte{1}) // the reader tells
	if _, err := b.Read(make([]byte, 1)); err != nil {
		t.Errorf("a pipe after tune: %v", err)
	}
}
