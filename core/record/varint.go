package record

import "math/bits"

// What a varint reader gives instead of the next position.
const (
	varintCut  = -1 // the bytes end within the number
	varintLong = -2 // more bytes than the type can have
)

// The most bytes that Kafka reads for an int32 and an int64.
const (
	maxVarint  = 5
	maxVarlong = 10
)

// readVarint reads a zigzag int32 at p[i:] and gives the position after it, or a
// negative one. As Kafka does, it ignores bits over the 32nd in the fifth byte.
//
// Cost: about 2 ns for one byte, which holds -64 to 63.
func readVarint(p []byte, i int) (int32, int) {
	if i < len(p) && p[i] < 0x80 {
		return int32(p[i]>>1) ^ -int32(p[i]&1), i + 1
	}
	v, next := readUvarint(p, i, maxVarint)
	u := uint32(v)
	return int32(u>>1) ^ -int32(u&1), next
}

// readVarlong reads a zigzag int64 at p[i:], otherwise as readVarint.
func readVarlong(p []byte, i int) (int64, int) {
	u, next := readUvarint(p, i, maxVarlong)
	return int64(u>>1) ^ -int64(u&1), next
}

func readUvarint(p []byte, i, most int) (uint64, int) {
	var v uint64
	for n := range most {
		if i >= len(p) {
			return 0, varintCut
		}
		c := p[i]
		i++
		v |= uint64(c&0x7f) << (7 * n)
		if c < 0x80 {
			return v, i
		}
	}
	return 0, varintLong
}

// appendVarint appends a zigzag varint; int32 values take the same bytes as
// varlongs do.
func appendVarint(dst []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// varintSize is the number of bytes that appendVarint appends.
func varintSize(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7
}
