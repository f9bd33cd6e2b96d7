package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DecodeMessage reads the body of r into m, whose version it sets first. Strings
// and bytes in m are copies or parts of the frame: use m only until r is
// answered. Bytes after the message are ignored, as Kafka ignores them. The
// error wraps ErrMalformed; the answer to it is r.Drop.
//
// kmsg compares every array length with the bytes that are left before it makes
// room, so what it allocates is a small multiple of the frame.
func DecodeMessage(r *Request, m kmsg.Request) (err error) {
	m.SetVersion(r.Version)
	if err := m.ReadFrom(r.Body); err != nil {
		return fmt.Errorf("key %d version %d, body of %d bytes: %w: %w", r.Key, r.Version, len(r.Body), ErrMalformed, err)
	}
	return nil
}
