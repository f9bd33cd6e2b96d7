package record

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/snappy"
)

// Snappy in a batch is either one raw block or the stream of the xerial library,
// which Java clients write:
//
//	82 'S' 'N' 'A' 'P' 'P' 'Y' 00 | version int32 | compatible int32
//	{ length int32 | raw snappy block of that length } ...
//
// A header may stand again between chunks, where streams were joined.
var xerialMagic = [8]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const (
	xerialHeader  = 16
	xerialVersion = 1
	xerialChunk   = 32 << 10 // bytes before compression, as the Java library cuts

	// snappyMaxRatio is more than a raw block can grow: a copy of 64 bytes takes at
	// least 3 bytes of input.
	snappyMaxRatio = 64
)

func decompressSnappy(dst, src []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(src, xerialMagic[:]) {
		return appendSnappyBlock(dst, src, limit)
	}
	return decompressXerial(dst, src, limit)
}

func decompressXerial(dst, src []byte, limit int) ([]byte, error) {
	for len(src) > 0 {
		if bytes.HasPrefix(src, xerialMagic[:]) {
			if len(src) < xerialHeader {
				return dst, fmt.Errorf("%w: snappy header is cut", ErrCorrupt)
			}
			src = src[xerialHeader:]
			continue
		}
		if len(src) < 4 {
			return dst, fmt.Errorf("%w: snappy chunk length is cut", ErrCorrupt)
		}
		n := int32(binary.BigEndian.Uint32(src))
		src = src[4:]
		if n <= 0 || int(n) > len(src) {
			return dst, fmt.Errorf("%w: snappy chunk of %d bytes, %d remain", ErrCorrupt, n, len(src))
		}
		var err error
		if dst, err = appendSnappyBlock(dst, src[:n], limit); err != nil {
			return dst, err
		}
		src = src[n:]
	}
	return dst, nil
}

// appendSnappyBlock decodes one raw block behind dst.
func appendSnappyBlock(dst, block []byte, limit int) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return dst, err
	}
	if n > snappyMaxRatio*len(block) {
		return dst, fmt.Errorf("%w: snappy block of %d bytes claims %d", ErrCorrupt, len(block), n)
	}
	if n > limit-len(dst) {
		return dst, tooLarge(limit)
	}
	at := len(dst)
	if cap(dst)-at < n {
		grown := make([]byte, at, max(minBuffer, 2*cap(dst), at+n))
		copy(grown, dst)
		dst = grown
	}
	out, err := snappy.DecodeStrict(dst[at:at+n], block)
	if err != nil {
		return dst, err
	}
	return dst[:at+len(out)], nil
}

// appendXerial compresses src behind dst as Java clients do.
func appendXerial(dst, src []byte) []byte {
	dst = append(dst, xerialMagic[:]...)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	scratch := takeBuffer()
	defer giveBuffer(scratch)
	for len(src) > 0 {
		n := min(len(src), xerialChunk)
		block := snappy.Encode((*scratch)[:cap(*scratch)], src[:n])
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(block)))
		dst = append(dst, block...)
		src = src[n:]
	}
	return dst
}
