package fetcher

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"sync"
)

// inboxSize is the buffer of a link that gets small answers.
const inboxSize = 64 << 10

// inboxKept is the largest buffer that a link keeps from one answer to the next while its
// answers are large: they come into it without a copy, and in fewer reads. The first
// answer that is small, at the latest that of an idle leader, gives it back.
const inboxKept = 1 << 20

// large are the buffers of answers that are larger. They are the link's for as long as
// such answers are read and appended.
var large = sync.Pool{New: func() any { return new([]byte) }}

// inbox cuts what arrives into frames.
type inbox struct {
	small []byte
	big   *[]byte // from large; nil: small is in use
	buf   []byte
	from  int // of what is not used yet
	to    int
	last  int // the length of the newest frame
}

// read reads once from a connection. There is room: for what is known to come, or for
// a length.
func (b *inbox) read(r io.Reader, most int) error {
	if err := b.makeRoom(most); err != nil {
		return err
	}
	n, err := r.Read(b.buf[b.to:])
	b.to += n
	if n > 0 {
		return nil
	}
	return err
}

// frame is the next complete frame without its length; nil: none. It is good until the
// next read.
func (b *inbox) frame(most int) ([]byte, error) {
	n, err := b.length(most)
	if n < 0 || err != nil || b.to-b.from < 4+n {
		return nil, err
	}
	f := b.buf[b.from+4 : b.from+4+n : b.from+4+n]
	b.from += 4 + n
	b.last = n
	return f, nil
}

// length is the length of the frame that begins; -1: it is not there yet.
func (b *inbox) length(most int) (int, error) {
	if b.to-b.from < 4 {
		return -1, nil
	}
	n := int(int32(binary.BigEndian.Uint32(b.buf[b.from:])))
	if n < 0 || n > most {
		return -1, fmt.Errorf("%w: a frame of %d bytes, the most is %d", ErrAnswer, n, most)
	}
	return n, nil
}

// makeRoom moves what is left to the front, into a larger buffer if the frame that
// begins needs one.
func (b *inbox) makeRoom(most int) error {
	if b.small == nil {
		b.small = make([]byte, inboxSize)
		b.buf = b.small
	}
	if b.from == b.to {
		b.from, b.to = 0, 0
		if b.last <= inboxSize || len(b.buf) > inboxKept {
			b.shrink()
		}
		return nil
	}
	n, err := b.length(most)
	if err != nil {
		return err
	}
	need := max(n, 0) + 4
	if need <= len(b.buf) {
		if b.from+need > len(b.buf) {
			b.to, b.from = copy(b.buf, b.buf[b.from:b.to]), 0
		}
		return nil
	}
	next := large.Get().(*[]byte)
	if need <= inboxKept && len(*next) > inboxKept { // a huge one would not be kept
		large.Put(next)
		next = new([]byte)
	}
	if len(*next) < need {
		*next = make([]byte, 1<<bits.Len(uint(need))) // need was compared with the bound
	}
	b.to, b.from = copy(*next, b.buf[b.from:b.to]), 0
	b.release()
	b.big, b.buf = next, *next
	return nil
}

// shrink gives a large buffer back.
func (b *inbox) shrink() {
	b.release()
	b.buf = b.small
}

// release gives the large buffer back.
func (b *inbox) release() {
	if b.big != nil {
		large.Put(b.big)
		b.big = nil
	}
}

// reset forgets what arrived.
func (b *inbox) reset() {
	b.from, b.to, b.last = 0, 0, 0
	b.shrink()
}
