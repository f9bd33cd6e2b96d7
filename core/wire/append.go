package wire

import "encoding/binary"

func appendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendUvarint(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

// uvarintLen is the number of bytes that v takes as an unsigned varint.
func uvarintLen(v uint32) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// appendArrayLen appends the length of an array that is not null.
func appendArrayLen(b []byte, n int, flexible bool) []byte {
	if flexible {
		return appendUvarint(b, uint32(n)+1)
	}
	return appendInt32(b, int32(n))
}

// appendNullArray appends the length of an array that is null.
func appendNullArray(b []byte, flexible bool) []byte {
	if flexible {
		return append(b, 0)
	}
	return appendInt32(b, -1)
}

// appendString appends a string that is not null.
func appendString[S ~string | ~[]byte](b []byte, s S, flexible bool) []byte {
	if flexible {
		b = appendUvarint(b, uint32(len(s))+1)
	} else {
		b = appendInt16(b, int16(len(s)))
	}
	return append(b, s...)
}

// appendNullable appends a string for which the empty one stands for null.
func appendNullable(b []byte, s string, flexible bool) []byte {
	switch {
	case s != "":
		return appendString(b, s, flexible)
	case flexible:
		return append(b, 0)
	}
	return appendInt16(b, -1)
}
