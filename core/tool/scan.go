package tool

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

const (
	// readBlock is how many bytes of a log are read at once.
	readBlock = 1 << 20
	// MaxBatchBytes is the largest batch in bytes that is read. Kafka has no limit
	// below 2 GiB on disk, but a length over this is damage in practice.
	MaxBatchBytes = 256 << 20
)

// magicAt is where a batch has its format version.
const magicAt = 16

// errZeros says that only zeros follow: a preallocated file.
var errZeros = errors.New("only zeros follow")

// scanner reads the batches of one .log file in order.
type scanner struct {
	file vfs.File
	size int64
	pos  int64 // of the next batch
	buf  []byte
	from int64 // file position of buf[0]
}

func openLog(fsys vfs.FS, name string) (*scanner, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &scanner{file: f, size: size}, nil
}

func (s *scanner) close() error { return s.file.Close() }

// left is how many bytes of the file are not read.
func (s *scanner) left() int64 { return s.size - s.pos }

// next gives the next batch and where it starts. The batch is good until the next
// call. io.EOF is the clean end. record.ErrShort is a torn batch, errZeros
// preallocated space, record.ErrCorrupt anything else that is no batch; after those
// the scanner is at its end. The CRC is not checked.
func (s *scanner) next() (record.Batch, int64, error) {
	at := s.pos
	if s.left() == 0 {
		return nil, at, io.EOF
	}
	head, err := s.bytes(at, min(s.left(), record.HeaderSize))
	if err != nil {
		return nil, at, err
	}
	n, err := record.Size(head)
	switch {
	case err != nil && s.onlyZeros(at):
		return nil, at, errZeros
	case err != nil:
		return nil, at, err
	case len(head) > magicAt && head[magicAt] != record.Magic: // before a length of noise is believed
		return nil, at, fmt.Errorf("%w: magic is %d, want %d", record.ErrCorrupt, int8(head[magicAt]), record.Magic)
	case n > MaxBatchBytes:
		return nil, at, fmt.Errorf("%w: batch of %d bytes, the limit is %d", record.ErrCorrupt, n, MaxBatchBytes)
	case int64(n) > s.left():
		return nil, at, fmt.Errorf("%w: batch of %d bytes, %d remain", record.ErrShort, n, s.left())
	}
	whole, err := s.bytes(at, int64(n))
	if err != nil {
		return nil, at, err
	}
	b, _, err := record.Next(whole)
	if err != nil {
		return nil, at, err
	}
	s.pos = at + int64(n)
	return b, at, nil
}

// bytes gives n bytes at a position, reading a block when they are not there.
func (s *scanner) bytes(at, n int64) ([]byte, error) {
	if at >= s.from && at+n <= s.from+int64(len(s.buf)) {
		return s.buf[at-s.from:][:n], nil
	}
	want := min(max(n, readBlock), s.size-at)
	if int64(cap(s.buf)) < want {
		s.buf = make([]byte, want)
	}
	s.buf = s.buf[:want]
	got, err := s.file.ReadAt(s.buf, at)
	s.buf, s.from = s.buf[:got], at
	if int64(got) < n {
		return nil, fmt.Errorf("read %d bytes at %d: %w", n, at, noEOF(err))
	}
	return s.buf[:n], nil
}

// noEOF says of a file that became shorter while it was read that it did.
func noEOF(err error) error {
	if err == io.EOF || err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *scanner) onlyZeros(at int64) bool {
	for at < s.size {
		b, err := s.bytes(at, min(readBlock, s.size-at))
		if err != nil {
			return false
		}
		for _, c := range b {
			if c != 0 {
				return false
			}
		}
		at += int64(len(b))
	}
	return true
}
