package server

import "net"

// sendBufferBytes is the default SO_SNDBUF of client sockets; the kernel doubles it for its
// own needs. Left to itself, the kernel lets a consumer's queue grow to megabytes,
// which cost more CPU to send than they gain: the bytes have left the processor's
// cache when the peer reads them, and readers of the same records do not meet in
// it. DESIGN.md has the figures. It is twice Kafka's default of
// socket.send.buffer.bytes, and as much as Linux gives a process that asks for
// nothing special.
const sendBufferBytes = 208 << 10

// tune sets a new socket up. A network that has no sockets is left alone. A socket that
// is gone already tells its reader, and a size that the system refuses is not worth a
// connection: errors count for nothing.
func (l *Limits) tune(nc net.Conn) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	if l.SendBufferBytes > 0 {
		_ = tcp.SetWriteBuffer(l.SendBufferBytes)
	}
	if l.ReceiveBufferBytes > 0 {
		_ = tcp.SetReadBuffer(l.ReceiveBufferBytes)
	}
}
