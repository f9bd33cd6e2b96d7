package segment

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// directBytesMin is the size from which a range goes to a socket by sendfile.
// Below it a pread into a pooled buffer and one write cost less CPU.
const directBytesMin = 16 << 10

// Range is a span of a segment's file that stays readable, whatever happens to
// the segment, until Release. It belongs to one goroutine.
type Range struct {
	h   *handle
	pos int64
	n   int64
}

// newRange takes over the caller's reference to h.
func (c *Files) newRange(h *handle, pos, n int64) *Range {
	r, ok := c.ranges.Get().(*Range)
	if !ok {
		r = &Range{}
	}
	r.h, r.pos, r.n = h, pos, n
	return r
}

// Len is the number of bytes.
func (r *Range) Len() int64 { return r.n }

// WriteTo sends the whole range to w: by sendfile when it is large and w is a TCP
// connection, else through a pooled buffer. A file that turned out shorter gives
// ErrTruncated; what was sent before can't be taken back.
//
// Hot: per fetched range. 0 allocs; one system call by sendfile, two by copy.
func (r *Range) WriteTo(w io.Writer) (int64, error) {
	m := &r.h.cache.metrics
	if conn, ok := w.(*net.TCPConn); ok {
		if r.n < directBytesMin {
			m.sentSmall.Add(uint64(r.n))
			return r.copyTo(w)
		}
		if f := r.h.file.OS(); f != nil {
			m.sentDirect.Add(uint64(r.n))
			sent, err := r.h.cache.sender.Send(conn, f, r.pos, r.n)
			return sent, r.short(sent, err)
		}
		m.sentNoFile.Add(uint64(r.n))
		return r.copyTo(w)
	}
	m.sentNoSocket.Add(uint64(r.n))
	return r.copyTo(w)
}

// copyTo sends the range through memory.
func (r *Range) copyTo(w io.Writer) (sent int64, err error) {
	buf := pooled(&r.h.cache.copies, copyBytes)
	defer r.h.cache.copies.Put(buf)
	for sent < r.n {
		part := (*buf)[:min(r.n-sent, copyBytes)]
		n, err := r.h.file.ReadAt(part, r.pos+sent)
		if n < len(part) {
			return sent, r.short(sent, err)
		}
		n, err = w.Write(part)
		sent += int64(n)
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// short names the loss when a file ended before the range did.
func (r *Range) short(sent int64, err error) error {
	if sent == r.n || (err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)) {
		return err
	}
	return fmt.Errorf("%w: %s bytes %d to %d, sent %d", ErrTruncated, r.h.file.Name(), r.pos, r.pos+r.n, sent)
}

// ReadAll appends the whole range to dst, for tests, tools and answers that are
// assembled in memory.
func (r *Range) ReadAll(dst []byte) ([]byte, error) {
	at := len(dst)
	if need := at + int(r.n); need > cap(dst) {
		grown := make([]byte, at, need)
		copy(grown, dst)
		dst = grown
	}
	dst = dst[:at+int(r.n)]
	r.h.cache.metrics.sentIntoMemory.Add(uint64(r.n))
	n, err := r.h.file.ReadAt(dst[at:], r.pos)
	if int64(n) < r.n {
		return dst[:at], r.short(int64(n), err)
	}
	return dst, nil
}

// Release gives the file back. The range must not be used after it.
func (r *Range) Release() {
	h, cache := r.h, r.h.cache
	*r = Range{}
	cache.ranges.Put(r)
	h.unref()
}

var _ io.WriterTo = (*Range)(nil)
