package vfs

import (
	"cmp"
	"io"
	"os"
	"strings"
)

// Lock implements FS.
func (m *Mem) Lock(name string, content []byte) (io.Closer, error) {
	h, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	f := h.(*memHandle).file
	m.mu.Lock()
	if m.locks[f] {
		holder := strings.TrimSpace(string(f.data))
		m.mu.Unlock()
		return nil, &LockedError{name, holder}
	}
	m.locks[f] = true
	m.mu.Unlock()
	if err := h.Truncate(0); err != nil {
		return nil, err
	}
	if _, err := h.WriteAt(content, 0); err != nil {
		return nil, err
	}
	return &memLock{m, f}, nil
}

type memLock struct {
	mem  *Mem
	file *memFile
}

// Close gives the lock up.
func (l *memLock) Close() error {
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	delete(l.mem.locks, l.file)
	return nil
}

// Usage implements FS.
func (m *Mem) Usage(string) (Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := cmp.Or(m.capacity, 1<<50)
	return Usage{Total: uint64(total), Available: uint64(max(0, total-m.used))}, nil
}
