package vfs

import (
	"cmp"
	"errors"
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
		holder := make([]byte, f.data.size)
		f.data.read(holder, 0)
		m.mu.Unlock()
		_ = h.Close() // memory, with nothing to lose
		return nil, &LockedError{name, strings.TrimSpace(string(holder))}
	}
	m.locks[f] = true
	m.mu.Unlock()
	lock := &memLock{m, f, h}
	_, err = h.WriteAt(content, 0)
	if err == nil {
		err = h.Truncate(int64(len(content)))
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

type memLock struct {
	mem  *Mem
	file *memFile
	open File
}

// Close gives the lock up.
func (l *memLock) Close() error {
	l.mem.mu.Lock()
	delete(l.mem.locks, l.file)
	l.mem.mu.Unlock()
	return l.open.Close()
}

// Usage implements FS.
func (m *Mem) Usage(string) (Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := cmp.Or(m.capacity, 1<<50)
	return Usage{Total: uint64(total), Available: uint64(max(0, total-m.used))}, nil
}

// ReleaseLocks gives up every lock, as the end of the processes that hold them does.
func (m *Mem) ReleaseLocks() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.locks)
}
