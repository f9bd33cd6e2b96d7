package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/hashicorp/raft-wal/metadb"
)

// The head of the file of votes, which is a bbolt database: two pages that begin
// with a header of 16 bytes and a meta record in the byte order of the machine.
const (
	boltPageHead  = 16
	boltMetaBytes = 64
	boltMagic     = 0xED0CDAED
	boltPageMax   = 64 << 10
)

// checkVotes finds a file of votes that is shorter than it says. Its library maps
// it into memory, and would end the process when it reads beyond the end.
func checkVotes(dir string) error {
	path := filepath.Join(dir, metadb.FileName)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, 2*boltPageMax)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	need, ok := boltSize(head[:n])
	if !ok {
		return fmt.Errorf("%s: it has no head", metadb.FileName)
	}
	if info.Size() < need {
		return fmt.Errorf("%s: %d bytes, want at least %d", metadb.FileName, info.Size(), need)
	}
	return nil
}

// boltSize is how long the file must be at least, by the larger of its meta
// records.
func boltSize(head []byte) (need int64, ok bool) {
	for at := 0; at+boltPageHead+boltMetaBytes <= len(head) && at <= boltPageMax; {
		meta := head[at+boltPageHead:]
		size := int(binary.NativeEndian.Uint32(meta[8:]))
		if binary.NativeEndian.Uint32(meta) == boltMagic && size >= 1<<10 && size <= boltPageMax {
			pages := binary.NativeEndian.Uint64(meta[40:])
			if pages < 1<<40 {
				need, ok = max(need, int64(pages)*int64(size)), true
			}
		}
		if at > 0 {
			break
		}
		if at = size; size < 1<<10 || size > boltPageMax {
			at = os.Getpagesize() // the first is damaged
		}
	}
	return need, ok
}

// guarded runs f and turns a panic, or a fault in mapped memory, into an error:
// the libraries under the log trust what is in their files.
func guarded[T any](f func() (T, error)) (out T, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	return f()
}

// errPanicked says that a library gave up on a file. What it holds stays held.
var errPanicked = errors.New("the file cannot be read")
