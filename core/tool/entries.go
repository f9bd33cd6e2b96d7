package tool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// Sizes of one entry, in bytes.
const (
	indexEntrySize     = 8
	timeIndexEntrySize = 12
	txnIndexEntrySize  = 34
)

// entryBlock is how many entries are read at once.
const entryBlock = 1024

// entries reads a file of equal entries in order.
type entries struct {
	file    vfs.File
	size    int64 // of an entry
	total   int64 // bytes of the file
	pos     int64 // of the next entry
	block   []byte
	buf     []byte // unread part of block
	zeroEnd bool   // an all-zero entry is unused space
}

func openEntries(fsys vfs.FS, name string, size int64, zeroEnd bool) (*entries, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	total, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &entries{file: f, size: size, total: total, zeroEnd: zeroEnd}, nil
}

func (e *entries) close() error { return e.file.Close() }

// odd is how many bytes at the end are less than an entry.
func (e *entries) odd() int64 { return e.total % e.size }

// next gives the next entry and where it starts, io.EOF at the end. The bytes are
// good until the next call.
func (e *entries) next() ([]byte, int64, error) {
	at := e.pos
	if len(e.buf) == 0 {
		n := min(e.size*entryBlock, e.total-e.odd()-at)
		if n <= 0 {
			return nil, at, io.EOF
		}
		if e.block == nil {
			e.block = make([]byte, e.size*entryBlock)
		}
		e.buf = e.block[:n]
		if got, err := e.file.ReadAt(e.buf, at); int64(got) < n {
			return nil, at, fmt.Errorf("read %d bytes at %d: %w", n, at, noEOF(err))
		}
	}
	entry := e.buf[:e.size]
	if e.zeroEnd && allZero(entry) {
		return nil, at, io.EOF
	}
	e.buf, e.pos = e.buf[e.size:], at+e.size
	return entry, at, nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// indexEntry is an entry of an offset index.
type indexEntry struct {
	offset   kafka.Offset
	position int64
}

func parseIndexEntry(base kafka.Offset, b []byte) indexEntry {
	return indexEntry{
		offset:   base + kafka.Offset(int32(binary.BigEndian.Uint32(b))),
		position: int64(int32(binary.BigEndian.Uint32(b[4:]))),
	}
}

// timeEntry is an entry of a time index.
type timeEntry struct {
	timestamp int64
	offset    kafka.Offset
}

func parseTimeEntry(base kafka.Offset, b []byte) timeEntry {
	return timeEntry{
		timestamp: int64(binary.BigEndian.Uint64(b)),
		offset:    base + kafka.Offset(int32(binary.BigEndian.Uint32(b[8:]))),
	}
}

// txnEntry is an aborted transaction.
type txnEntry struct {
	version    int16
	producerID kafka.ProducerID
	first      kafka.Offset
	last       kafka.Offset
	stable     kafka.Offset
}

func parseTxnEntry(b []byte) txnEntry {
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[i:])) }
	return txnEntry{
		version:    int16(binary.BigEndian.Uint16(b)),
		producerID: kafka.ProducerID(at(2)),
		first:      kafka.Offset(at(10)),
		last:       kafka.Offset(at(18)),
		stable:     kafka.Offset(at(26)),
	}
}
