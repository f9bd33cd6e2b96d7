package telemetry

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a protobuf message: number holds a varint or a fixed value,
// bytes what has a length.
type field struct {
	id     protowire.Number
	kind   protowire.Type
	number uint64
	bytes  []byte // part of the message
}

// is says whether it is the field with this id and type. A field of another type is
// none that we know: protobuf passes over those.
func (f *field) is(id protowire.Number, kind protowire.Type) bool {
	return f.id == id && f.kind == kind
}

// message says whether it is the field with this id and holds a message, bytes or text.
func (f *field) message(id protowire.Number) bool { return f.is(id, protowire.BytesType) }

// scan calls f for each field of a message, in the order of the bytes, until it
// returns an error. It allocates nothing and goes down into nothing.
func scan(b []byte, f func(*field) error) error {
	for len(b) > 0 {
		var x field
		var n int
		if x.id, x.kind, n = protowire.ConsumeTag(b); n < 0 {
			return malformed(n)
		}
		b = b[n:]
		switch x.kind {
		case protowire.VarintType:
			x.number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			x.number, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			x.bytes, n = protowire.ConsumeBytes(b)
		default: // of the rest nothing is read
			n = protowire.ConsumeFieldValue(x.id, x.kind, b)
		}
		if n < 0 {
			return malformed(n)
		}
		b = b[n:]
		if err := f(&x); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for each message in a repeated field.
func each(b []byte, id protowire.Number, f func(message []byte) error) error {
	return scan(b, func(x *field) error {
		if x.message(id) {
			return f(x.bytes)
		}
		return nil
	})
}

func malformed(n int) error { return fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(n)) }
