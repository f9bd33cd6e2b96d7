package server

import (
	"log/slog"
	"math"
	"net/netip"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/quota"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/wire"
)

// Options make a Server.
type Options struct {
	Handler wire.Handler      // required
	Log     *slog.Logger      // nil: nothing is logged
	Clock   clock.Clock       // nil: the system's. Socket deadlines are always the system's.
	Metrics *metrics.Registry // nil: a private one

	// Limits is asked often and may change its answer at any time. Nil: the
	// defaults.
	Limits func() Limits
	// Budget bounds the bytes of requests in flight (queued.max.request.bytes).
	// Nil: quota.DefaultBytes.
	Budget *quota.Budget
	// Versions is the range of versions of a key that the handler takes; ok is
	// false for an unknown key. A request outside closes its connection, but
	// ApiVersions always reaches the handler. Required.
	Versions func(key int16) (min, max int16, ok bool)
	// Nature says how the requests of a key are treated. Nil: all are Large and
	// Pipelined.
	Nature func(key int16) Nature
	// Gone is told of each connection that has ended, after its last request was
	// started. Nil: nobody is.
	Gone func(*wire.ConnInfo)
	// HTTPHint is named in the log when somebody speaks HTTP to us: the address
	// of the admin listener. Empty: no hint.
	HTTPHint string
}

// Limits bound what clients can take. A zero field means its default.
type Limits struct {
	// RequestMaxBytes is the largest frame (socket.request.max.bytes, 100 MiB).
	RequestMaxBytes int32
	// SendBufferBytes and ReceiveBufferBytes are the socket's (socket.send.buffer.bytes,
	// 208 KiB; socket.receive.buffer.bytes, the system's choice); negative: the system's
	// choice. They count for new connections.
	SendBufferBytes    int
	ReceiveBufferBytes int
	// MaxConnections over all listeners (max.connections, no limit). At the limit
	// nothing is accepted until a connection closes.
	MaxConnections int
	// MaxConnectionsPerIP (max.connections.per.ip, no limit; negative: none but
	// the overrides). A connection over the limit is closed.
	MaxConnectionsPerIP          int
	MaxConnectionsPerIPOverrides map[netip.Addr]int
	// IdleTimeout closes a connection that is silent and waits for nothing
	// (connections.max.idle.ms, 10 min; negative: never).
	IdleTimeout time.Duration
	// FrameTimeout is how long a frame may take from its first byte, plus the time
	// that its bytes take at SlowestPeer (30 s).
	FrameTimeout time.Duration
	// WriteTimeout is how long a peer may refuse to read, plus the time that the
	// bytes take at SlowestPeer (30 s).
	WriteTimeout time.Duration
	// InFlightRequests and InFlightBytes of one connection (1,024; 16 MiB); a
	// larger request runs alone. At the limit nothing more is read from it.
	InFlightRequests int
	InFlightBytes    int64
}

// SlowestPeer is the pace in bytes per second that a large frame or answer is
// allowed: slower peers lose their connection.
const SlowestPeer = 64 << 10

// withDefaults fills in what is zero.
func (l Limits) withDefaults() Limits {
	setDefault(&l.RequestMaxBytes, 100<<20)
	setDefault(&l.SendBufferBytes, sendBufferBytes)
	setDefault(&l.ReceiveBufferBytes, -1)
	setDefault(&l.MaxConnections, math.MaxInt)
	setDefault(&l.MaxConnectionsPerIP, math.MaxInt)
	setDefault(&l.IdleTimeout, 10*time.Minute)
	setDefault(&l.FrameTimeout, 30*time.Second)
	setDefault(&l.WriteTimeout, 30*time.Second)
	setDefault(&l.InFlightRequests, 1024)
	setDefault(&l.InFlightBytes, 16<<20)
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// perIP is the limit of connections from addr.
func (l *Limits) perIP(addr netip.Addr) int {
	if n, ok := l.MaxConnectionsPerIPOverrides[addr]; ok {
		return n
	}
	return l.MaxConnectionsPerIP
}

// atPace is the time that n bytes may take.
func atPace(n int64) time.Duration { return time.Duration(n) * time.Second / SlowestPeer }
