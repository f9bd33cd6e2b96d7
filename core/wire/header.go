package wire

import (
	"encoding/binary"
	"fmt"
)

// Header is a request's header, of version 1, or 2 when the key's version is
// flexible (version 0, without a client id, belonged to a key that is gone).
type Header struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      []byte // nil: null. Part of the request's frame.
}

// PeekSize is how many bytes PeekVersion needs.
const PeekSize = 4

// PeekVersion reads key and version from the first PeekSize bytes of a frame, so
// that an unknown one is refused before there is memory for its body.
func PeekVersion(frame []byte) (key, version int16) {
	return int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
}

// DecodeHeader reads the header at the start of a frame (what follows the
// frame's length) into h and returns the body. Header tags are skipped.
// Hot: per request. 0 allocs.
func DecodeHeader(h *Header, frame []byte) (body []byte, err error) {
	c := cursor{b: frame}
	h.Key, h.Version = c.int16(), c.int16()
	h.CorrelationID = c.int32()
	h.ClientID = c.nullableStr(false)
	if requestHeaderTags(h.Key, h.Version) {
		c.tags()
	}
	if c.bad {
		return nil, fmt.Errorf("header of key %d version %d, frame of %d bytes: %w", h.Key, h.Version, len(frame), ErrMalformed)
	}
	return c.b, nil
}

// AppendHeader appends the request header h: the client's half, for tests and
// for brokers that speak to each other.
func AppendHeader(b []byte, h *Header) []byte {
	b = appendInt16(b, h.Key)
	b = appendInt16(b, h.Version)
	b = appendInt32(b, h.CorrelationID)
	if h.ClientID == nil {
		b = appendInt16(b, -1)
	} else {
		b = append(appendInt16(b, int16(len(h.ClientID))), h.ClientID...)
	}
	if requestHeaderTags(h.Key, h.Version) {
		b = append(b, 0)
	}
	return b
}
