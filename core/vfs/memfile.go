package vfs

import (
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// memFile is the content of a file, which may outlive its name. Guarded by
// Mem.mu.
type memFile struct {
	data     memImage
	synced   memImage   // what a crash leaves
	pending  []memWrite // since the last sync, oldest first
	modified time.Time
	named    bool
}

func (*memFile) isDir() bool { return false }

// memWrite is a write at off, or a change of size to off (n 0).
type memWrite struct {
	off  int64
	n    int
	data []byte // nil: zeros, which cost nothing to remember
}

func writeOf(p []byte, off int64) memWrite {
	if isZeros(p) {
		return memWrite{off: off, n: len(p)}
	}
	return memWrite{off, len(p), append([]byte(nil), p...)}
}

// cut is the write's first n bytes.
func (w memWrite) cut(n int) memWrite {
	w.n = n
	if w.data != nil {
		w.data = w.data[:n]
	}
	return w
}

// apply does a write to an image of the file.
func (w memWrite) apply(image *memImage) {
	switch {
	case w.n == 0:
		image.resize(w.off)
	case w.data == nil:
		image.zero(int64(w.n), w.off)
	default:
		image.write(w.data, w.off)
	}
}

// resize changes a file's size. Caller holds mu.
func (m *Mem) resize(f *memFile, size int64) {
	if f.named {
		m.used += size - f.data.size
	}
	w := memWrite{off: size}
	w.apply(&f.data)
	f.pending = append(f.pending, w)
	f.modified = time.Now()
}

// sync makes a file's content durable.
func (f *memFile) sync() {
	f.synced, f.pending = f.data.snapshot(), nil
}

// memHandle is an open file.
type memHandle struct {
	mem      *Mem
	file     *memFile
	name     string
	writable bool
	closed   bool // guarded by mem.mu
}

// begin announces an operation, takes the lock and checks the handle.
func (h *memHandle) begin(kind OpKind) error {
	h.mem.about(kind, h.name)
	switch {
	case h.closed:
		return pathError(kind.String(), h.name, fs.ErrClosed)
	case kind.Changes() && kind != OpSync && kind != OpSyncData && !h.writable:
		return pathError(kind.String(), h.name, unix.EBADF)
	}
	return nil
}

func (h *memHandle) ReadAt(p []byte, off int64) (int, error) {
	err := h.begin(OpRead)
	defer h.mem.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", h.name, unix.EINVAL)
	}
	n := h.file.data.read(p, off)
	if n < len(p) || off >= h.file.data.size {
		return n, io.EOF
	}
	return n, nil
}

func (h *memHandle) WriteAt(p []byte, off int64) (int, error) {
	err := h.begin(OpWrite)
	defer h.mem.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return h.write(p, off)
}

// write stores what fits on the disk. Caller holds mu.
func (h *memHandle) write(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, pathError("write", h.name, unix.EINVAL)
	}
	f, m := h.file, h.mem
	var full error
	if grow := off + int64(len(p)) - f.data.size; f.named && m.capacity > 0 && grow > 0 && m.used+grow > m.capacity {
		fits := max(0, int64(len(p))-(m.used+grow-m.capacity))
		p, full = p[:fits], pathError("write", h.name, unix.ENOSPC)
	}
	if len(p) > 0 {
		before := f.data.size
		w := writeOf(p, off)
		w.apply(&f.data)
		f.pending = append(f.pending, w)
		f.modified = time.Now()
		if f.named {
			m.used += f.data.size - before
		}
	}
	return len(p), full
}

func (h *memHandle) Size() (int64, error) {
	err := h.begin(OpStat)
	defer h.mem.mu.Unlock()
	return h.file.data.size, err
}

func (h *memHandle) Truncate(size int64) error {
	err := h.begin(OpTruncate)
	defer h.mem.mu.Unlock()
	if err == nil && size < 0 {
		err = pathError("truncate", h.name, unix.EINVAL)
	}
	if err == nil {
		h.mem.resize(h.file, size)
	}
	return err
}

func (h *memHandle) Sync() error     { return h.syncAs(OpSync) }
func (h *memHandle) SyncData() error { return h.syncAs(OpSyncData) }

func (h *memHandle) syncAs(kind OpKind) error {
	err := h.begin(kind)
	defer h.mem.mu.Unlock()
	if err == nil {
		h.file.sync()
	}
	return err
}

// Allocate only checks: space in memory needs no reserve.
func (h *memHandle) Allocate(_, _ int64) error {
	err := h.begin(OpAllocate)
	defer h.mem.mu.Unlock()
	return err
}

func (h *memHandle) Close() error {
	h.mem.about(OpClose, h.name)
	defer h.mem.mu.Unlock()
	if h.closed {
		return pathError("close", h.name, fs.ErrClosed)
	}
	h.closed = true
	return nil
}

func (h *memHandle) OS() *os.File { return nil }
func (h *memHandle) Name() string { return h.name }

var _ File = (*memHandle)(nil)
