package sendfile

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// chunkMax bounds one system call, so that n always fits.
const chunkMax = 1 << 30

// copyBytes is the buffer of a copy where there is no socket.
const copyBytes = 64 << 10

// Sender sends ranges of files. Its zero value is ready; it is safe for
// concurrent use.
type Sender struct {
	calls   sync.Pool // *call
	buffers sync.Pool // *[]byte
}

// call is the state of one Send. Its closure is made once and used again, so
// that a Send allocates nothing.
type call struct {
	file *os.File
	off  int64
	left int64
	err  error
	try  func(fd uintptr) (done bool)
}

// Send writes n bytes of f, starting at off, to dst: by sendfile(2) when dst is
// a socket of the system, else by copying. It returns how many bytes left.
//
// Hot: per range. 0 allocs; one system call unless the socket is full.
func (s *Sender) Send(dst io.Writer, f *os.File, off, n int64) (int64, error) {
	socket, ok := dst.(*net.TCPConn)
	if !ok {
		return s.copy(dst, f, off, n)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	c, ok := s.calls.Get().(*call)
	if !ok {
		c = &call{}
		c.try = c.send
	}
	c.file, c.off, c.left, c.err = f, off, n, nil
	err = raw.Write(c.try)
	sent := n - c.left
	if err == nil {
		err = c.err
	}
	c.file = nil
	s.calls.Put(c)
	return sent, err
}

// send moves bytes until all have gone, the socket is full (false: call again
// when it is not) or something is wrong.
func (c *call) send(fd uintptr) (done bool) {
	for c.left > 0 {
		n, err := unix.Sendfile(int(fd), int(c.file.Fd()), &c.off, int(min(c.left, chunkMax)))
		if n > 0 {
			c.left -= int64(n)
		}
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return false
		case err != nil:
			c.err = fmt.Errorf("sendfile %s: %w", c.file.Name(), err)
			return true
		case n == 0:
			c.err = fmt.Errorf("sendfile %s at %d: %d bytes are missing: %w", c.file.Name(), c.off, c.left, io.ErrUnexpectedEOF)
			return true
		}
	}
	return true
}

// copy sends by way of a buffer, where the peer is no socket of the system.
func (s *Sender) copy(dst io.Writer, f io.ReaderAt, off, n int64) (int64, error) {
	buf, ok := s.buffers.Get().(*[]byte)
	if !ok {
		b := make([]byte, copyBytes)
		buf = &b
	}
	defer s.buffers.Put(buf)
	sent := int64(0)
	for sent < n {
		part := (*buf)[:min(n-sent, copyBytes)]
		got, err := f.ReadAt(part, off+sent)
		if got < len(part) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return sent, fmt.Errorf("read at %d: %w", off+sent+int64(got), err)
		}
		wrote, err := dst.Write(part)
		sent += int64(wrote)
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}
