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
	data     []byte
	synced   []byte     // what a crash leaves
	pending  []memWrite // since the last sync, oldest first
	modified time.Time
	named    bool
}

func (*memFile) isDir() bool { return false }

// memWrite is a write at off, or a change of size (data nil).
type memWrite struct {
	off  int64
	data []byte
}

// apply does a write to an image of the file.
func (w memWrite) apply(image []byte) []byte {
	if w.data == nil {
		return resized(image, w.off)
	}
	if end := w.off + int64(len(w.data)); end > int64(len(image)) {
		image = resized(image, end)
	}
	copy(image[w.off:], w.data)
	return image
}

// resized cuts an image or fills it up with zeros.
func resized(image []byte, size int64) []byte {
	if size <= int64(len(image)) {
		return image[:size]
	}
	return append(image, make([]byte, size-int64(len(image)))...)
}

// resize changes a file's size. Caller holds mu.
func (m *Mem) resize(f *memFile, size int64) {
	if f.named {
		m.used += size - int64(len(f.data))
	}
	w := memWrite{off: size}
	f.data = w.apply(f.data)
	f.pending = append(f.pending, w)
	f.modified = time.Now()
}

// sync makes a file's content durable.
func (f *memFile) sync() {
	for _, w := range f.pending {
		f.synced = w.apply(f.synced)
	}
	f.pending = nil
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
	if off >= int64(len(h.file.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.file.data[off:])
	if n < len(p) {
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
	if grow := off + int64(len(p)) - int64(len(f.data)); f.named && m.capacity > 0 && grow > 0 && m.used+grow > m.capacity {
		fits := max(0, int64(len(p))-(m.used+grow-m.capacity))
		p, full = p[:fits], pathError("write", h.name, unix.ENOSPC)
	}
	if len(p) > 0 {
		before := len(f.data)
		w := memWrite{off, append([]byte(nil), p...)}
		f.data = w.apply(f.data)
		f.pending = append(f.pending, w)
		f.modified = time.Now()
		if f.named {
			m.used += int64(len(f.data) - before)
		}
	}
	return len(p), full
}

func (h *memHandle) Size() (int64, error) {
	err := h.begin(OpStat)
	defer h.mem.mu.Unlock()
	return int64(len(h.file.data)), err
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
