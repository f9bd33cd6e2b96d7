package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// maxPooledBuffer is the largest buffer in bytes that is kept for reuse, so that
// one huge batch does not hold memory for ever.
const maxPooledBuffer = 4 << 20

// minBuffer is the size in bytes that a scratch buffer starts with.
const minBuffer = 64 << 10

// maxZstdWindow is the largest window in bytes that is accepted: what the zstd
// library accepts by default (window log 27). No memory is set aside for it.
const maxZstdWindow = 128 << 20

// These pools hold scratch memory only; nothing that they hold outlives the call
// that took it, and nothing depends on what comes out of them.
var (
	buffers = sync.Pool{New: func() any { b := make([]byte, 0, minBuffer); return &b }}
	gunzips = sync.Pool{New: func() any { return new(gunzip) }}
	unlz4s  = sync.Pool{New: func() any { return &unlz4{lz: lz4.NewReader(nil)} }}
	unzstds = sync.Pool{New: newZstdDecoder}
)

type gunzip struct {
	src bytes.Reader
	gz  gzip.Reader
}

type unlz4 struct {
	src bytes.Reader
	lz  *lz4.Reader
}

// newZstdDecoder makes a decoder that starts no goroutine and writes into the
// caller's buffer only.
func newZstdDecoder() any {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic("record: options of the zstd decoder: " + err.Error()) // they are constants
	}
	return d
}

func takeBuffer() *[]byte { return buffers.Get().(*[]byte) }

func giveBuffer(b *[]byte) {
	if cap(*b) <= maxPooledBuffer {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// decompress appends what src decompresses to onto dst[:0] and returns it. Never
// more than limit bytes are produced, and dst never grows over twice that. The
// error wraps ErrTooLarge or ErrCorrupt.
//
// The libraries see bytes that anybody may have sent. Should one of them panic,
// the batch is corrupt: no lock is held here, and the decoder is not used again.
//
// Cost: with a large enough dst and warm pools no allocation for snappy and zstd.
func decompress(dst []byte, codec Codec, src []byte, limit int) (out []byte, err error) {
	defer shield(&out, &err, codec)
	switch codec {
	case Gzip:
		dst, err = decompressGzip(dst[:0], src, limit)
	case Snappy:
		dst, err = decompressSnappy(dst[:0], src, limit)
	case LZ4:
		dst, err = decompressLZ4(dst[:0], src, limit)
	case Zstd:
		dst, err = decompressZstd(dst[:0], src, limit)
	default:
		return dst, fmt.Errorf("%w: codec %d does not exist", ErrCorrupt, codec)
	}
	if err == nil || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrCorrupt) {
		return dst, err
	}
	return dst, fmt.Errorf("%w: %s: %w", ErrCorrupt, codec, err)
}

// shield, deferred, turns a panic of a codec's library into an error.
func shield(out *[]byte, err *error, codec Codec) {
	if p := recover(); p != nil {
		*out, *err = nil, fmt.Errorf("%w: %s: panic: %v", ErrCorrupt, codec, p)
	}
}

func tooLarge(limit int) error {
	return fmt.Errorf("%w: over %d bytes", ErrTooLarge, limit)
}

func decompressGzip(dst, src []byte, limit int) ([]byte, error) {
	g := gunzips.Get().(*gunzip)
	g.src.Reset(src)
	err := noEOF(g.gz.Reset(&g.src))
	if err == nil {
		dst, err = readLimited(dst, &g.gz, limit)
	}
	g.src.Reset(nil)
	gunzips.Put(g) // not after a panic
	return dst, err
}

func decompressLZ4(dst, src []byte, limit int) ([]byte, error) {
	if len(src) == 0 {
		return dst, io.ErrUnexpectedEOF // the library takes it for a stream of no frames
	}
	u := unlz4s.Get().(*unlz4)
	u.src.Reset(src)
	u.lz.Reset(&u.src)
	dst, err := readLimited(dst, u.lz, limit)
	u.src.Reset(nil)
	unlz4s.Put(u) // not after a panic
	return dst, err
}

func decompressZstd(dst, src []byte, limit int) ([]byte, error) {
	d := unzstds.Get().(*zstd.Decoder)
	dst, err := decodeZstd(d, dst, src, limit)
	unzstds.Put(d) // not after a panic
	return dst, err
}

// decodeZstd decodes into the space that dst has and starts again with twice as
// much when it was not enough: a frame need not tell its size, and one that does
// may lie.
func decodeZstd(d *zstd.Decoder, dst, src []byte, limit int) ([]byte, error) {
	dst = reserve(dst, min(limit, max(minBuffer, 4*len(src), zstdContentSize(src, limit))))
	for {
		space := dst[:0:min(cap(dst), limit)]
		out, err := d.DecodeAll(src, space)
		if err == nil {
			return out, nil
		}
		if !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			return dst[:0], err
		}
		if cap(dst) >= limit {
			return dst[:0], tooLarge(limit)
		}
		dst = reserve(dst, min(limit, 2*cap(dst)))
	}
}

// zstdContentSize is the size that the first frame claims, at most limit; 0 if
// it does not tell.
func zstdContentSize(src []byte, limit int) int {
	var h zstd.Header
	if err := h.Decode(src); err != nil || !h.HasFCS {
		return 0
	}
	// A block of at least 3 bytes makes at most 128 KiB.
	most := uint64(len(src)/3+1) * (128 << 10)
	return int(min(h.FrameContentSize, most, uint64(limit)))
}

// reserve gives an empty slice with room for n bytes.
func reserve(dst []byte, n int) []byte {
	if cap(dst) < n {
		return make([]byte, 0, n)
	}
	return dst[:0]
}

// readLimited reads r to its end, growing dst as it goes.
func readLimited(dst []byte, r io.Reader, limit int) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			grown := make([]byte, len(dst), max(minBuffer, 2*cap(dst)))
			copy(grown, dst)
			dst = grown
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if len(dst) > limit {
			return dst[:0], tooLarge(limit)
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst[:0], err
		}
	}
}

// noEOF says of a header that ended early that it did: io.EOF alone means success.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Decompress returns what src decompresses to, at most limit bytes. It is for bytes
// that are no batch. The error wraps ErrTooLarge or ErrCorrupt.
func Decompress(codec Codec, src []byte, limit int) ([]byte, error) {
	return decompress(nil, codec, src, limit)
}
