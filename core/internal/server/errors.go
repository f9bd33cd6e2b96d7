package server

import "errors"

// Why a connection was closed by us. Errors wrap one of these.
var (
	errFrameSize    = errors.New("frame size out of range")
	errVersion      = errors.New("unsupported key or version")
	errTLS          = errors.New("looks like a TLS handshake")
	errHTTP         = errors.New("looks like HTTP")
	errIdle         = errors.New("idle too long")
	errFrameTimeout = errors.New("frame was not completed in time")
	errWriteTimeout = errors.New("peer does not read its answers")
	errShortBody    = errors.New("body shorter than announced")
	errNoMemory     = errors.New("no memory became free for the rest of a frame (queued.max.request.bytes)")
	errUnread       = errors.New("answers were left unread while there was no room for others")
	errStopped      = errors.New("server stopped")
)

// reason is why something was rejected, as metrics and the log's limiter name it.
type reason int

const (
	reasonOther reason = iota
	reasonFrameSize
	reasonVersion
	reasonMalformed
	reasonTLS
	reasonHTTP
	reasonIdle
	reasonFrameTimeout
	reasonWriteTimeout
	reasonShortBody
	reasonNoMemory
	reasonUnread
	reasonPerIP
	reasonMaxConnections
	reasonAccept
	reasons // how many there are
)

var reasonNames = [reasons]string{
	"other", "frame-size", "version", "malformed", "tls", "http", "idle",
	"frame-timeout", "write-timeout", "short-body", "no-memory", "unread", "per-ip", "max-connections", "accept",
}
