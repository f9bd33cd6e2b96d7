package server

import "net"

// sendBufferBytes is SO_SNDBUF of client sockets; the kernel doubles it for its
// own needs. Left to itself, the kernel lets a consumer's queue grow to megabytes,
// which cost more CPU to send than they gain: the bytes have left the processor's
// cache when the peer reads them, and readers of the same records do not meet in
// it. DESIGN.md has the figures. It is twice Kafka's default of
// socket.send.buffer.bytes, and as much as Linux gives a process that asks for
// nothing special.
const sendBufferBytes = 208 << 10

// tune sets a new socket up. A network that has no sockets is left alone.
func tune(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBufferBytes) // a socket that is gone already tells its reader
	}
}
