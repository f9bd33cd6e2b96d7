package server

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/mortisemq/mortise/core/wire"
)

// Bounds of what a client that is not authenticated may send, in bytes.
const (
	maxUnauthenticated = 512 << 10 // a frame (Kafka's sasl.server.max.receive.size)
	maxToken           = smallFrame - lengthSize
)

// token starts the bare SASL token at the start of rest as a request. It returns
// false when the token has not arrived as a whole.
func (r *reader) token(rest []byte) (complete bool, err error) {
	size := int(int32(binary.BigEndian.Uint32(rest)))
	if size < 0 || size > maxToken {
		return false, fmt.Errorf("%w: a SASL token of %d bytes, want at most %d", errFrameSize, size, maxToken)
	}
	if len(rest) < lengthSize+size {
		r.begin()
		return false, nil
	}
	r.r += lengthSize + size
	r.started = time.Time{} // what follows is another frame, with time of its own
	r.mem.hold()
	return true, r.handle(r.mem, wire.Header{Key: wire.KeyToken}, rest[lengthSize:lengthSize+size:lengthSize+size], size)
}
