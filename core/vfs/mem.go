package vfs

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Mem is a disk in memory that remembers what was made durable, so that a test
// can cut the power (Crash) and look at what is left:
//
//   - The bytes of a file are durable after Sync or SyncData.
//   - An entry of a folder (create, remove, rename) is durable after SyncDir of
//     that folder. A rename within a folder is one step; one between folders is
//     durable at once.
//
// It is safe for concurrent use. Lock order: Mem.mu covers everything.
type Mem struct {
	mu       sync.Mutex
	root     *memDir
	used     int64 // bytes of all files that have a name
	capacity int64 // 0: without bound
	locks    map[*memFile]bool
	onOp     func(Op)
}

// NewMem returns an empty disk.
func NewMem() *Mem { return &Mem{root: newMemDir(), locks: map[*memFile]bool{}} }

// SetCapacity bounds the bytes of all files; 0 takes the bound away. A write
// past it stores what fits and fails with ENOSPC.
func (m *Mem) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = bytes
}

// Op is one operation that is about to happen.
type Op struct {
	Kind OpKind
	Name string
}

// OnOp has f called before each operation takes effect, with no lock held: f may
// call Crash to keep the disk as it would be without the operation. A test that
// crashes "at every sync" collects such disks and reopens each of them.
func (m *Mem) OnOp(f func(Op)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onOp = f
}

// about announces an operation and takes the lock for it.
func (m *Mem) about(kind OpKind, name string) {
	m.mu.Lock()
	if f := m.onOp; f != nil {
		m.mu.Unlock()
		f(Op{kind, name})
		m.mu.Lock()
	}
}

// split turns a path into its parts below the root.
func split(name string) []string {
	name = strings.Trim(filepath.ToSlash(filepath.Clean(name)), "/")
	if name == "" || name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// find looks a path up. Caller holds mu.
func (m *Mem) find(op, name string) (memNode, error) {
	var node memNode = m.root
	for _, part := range split(name) {
		dir, ok := node.(*memDir)
		if !ok {
			return nil, pathError(op, name, unix.ENOTDIR)
		}
		if node, ok = dir.entries[part]; !ok {
			return nil, pathError(op, name, fs.ErrNotExist)
		}
	}
	return node, nil
}

// parent finds the folder of a path and the last part. Caller holds mu.
func (m *Mem) parent(op, name string) (*memDir, string, error) {
	parts := split(name)
	if len(parts) == 0 {
		return nil, "", pathError(op, name, fs.ErrInvalid)
	}
	node, err := m.find(op, strings.Join(parts[:len(parts)-1], "/"))
	if err != nil {
		return nil, "", pathError(op, name, fs.ErrNotExist)
	}
	dir, ok := node.(*memDir)
	if !ok {
		return nil, "", pathError(op, name, unix.ENOTDIR)
	}
	return dir, parts[len(parts)-1], nil
}

// OpenFile implements FS.
func (m *Mem) OpenFile(name string, flag int, _ fs.FileMode) (File, error) {
	m.about(OpOpen, name)
	defer m.mu.Unlock()
	dir, last, err := m.parent("open", name)
	if err != nil {
		return nil, err
	}
	node, exists := dir.entries[last]
	f, isFile := node.(*memFile)
	switch {
	case exists && !isFile:
		return nil, pathError("open", name, unix.EISDIR)
	case exists && flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, pathError("open", name, fs.ErrExist)
	case !exists && flag&os.O_CREATE == 0:
		return nil, pathError("open", name, fs.ErrNotExist)
	case !exists:
		f = &memFile{modified: time.Now(), named: true}
		dir.step(memChange{last, f})
	}
	writable := flag&(os.O_WRONLY|os.O_RDWR) != 0
	if flag&os.O_TRUNC != 0 && writable {
		m.resize(f, 0)
	}
	return &memHandle{mem: m, file: f, name: name, writable: writable}, nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.about(OpRemove, name)
	defer m.mu.Unlock()
	dir, last, err := m.parent("remove", name)
	if err != nil {
		return err
	}
	switch node := dir.entries[last].(type) {
	case nil:
		return pathError("remove", name, fs.ErrNotExist)
	case *memDir:
		if len(node.entries) > 0 {
			return pathError("remove", name, unix.ENOTEMPTY)
		}
	case *memFile:
		m.unname(node)
	}
	dir.step(memChange{last, nil})
	return nil
}

// RemoveAll implements FS.
func (m *Mem) RemoveAll(name string) error {
	m.about(OpRemove, name)
	defer m.mu.Unlock()
	dir, last, err := m.parent("removeall", name)
	if err != nil {
		return nil // no folder, so nothing to remove
	}
	if node, ok := dir.entries[last]; ok {
		m.unname(node)
		dir.step(memChange{last, nil})
	}
	return nil
}

// unname gives back the space of everything below a node that loses its name.
func (m *Mem) unname(node memNode) {
	switch node := node.(type) {
	case *memFile:
		if node.named {
			m.used -= node.data.size
			node.named = false
		}
	case *memDir:
		for _, below := range node.entries {
			m.unname(below)
		}
	}
}

// Rename implements FS.
func (m *Mem) Rename(from, to string) error {
	m.about(OpRename, from)
	defer m.mu.Unlock()
	fromDir, fromLast, err := m.parent("rename", from)
	if err != nil {
		return err
	}
	toDir, toLast, err := m.parent("rename", to)
	if err != nil {
		return err
	}
	node, ok := fromDir.entries[fromLast]
	if !ok {
		return pathError("rename", from, fs.ErrNotExist)
	}
	if old, ok := toDir.entries[toLast]; ok && old != node {
		if below, isDir := old.(*memDir); isDir && len(below.entries) > 0 {
			return pathError("rename", to, unix.ENOTEMPTY)
		}
		m.unname(old)
	}
	if fromDir == toDir {
		fromDir.step(memChange{fromLast, nil}, memChange{toLast, node})
		return nil
	}
	fromDir.step(memChange{fromLast, nil})
	toDir.step(memChange{toLast, node})
	fromDir.sync()
	toDir.sync()
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(name string, _ fs.FileMode) error {
	m.about(OpMkdir, name)
	defer m.mu.Unlock()
	dir := m.root
	for _, part := range split(name) {
		switch node := dir.entries[part].(type) {
		case nil:
			made := newMemDir()
			dir.step(memChange{part, made})
			dir = made
		case *memDir:
			dir = node
		default:
			return pathError("mkdir", name, unix.ENOTDIR)
		}
	}
	return nil
}

// ReadDir implements FS; entries are sorted by name.
func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.about(OpReadDir, name)
	defer m.mu.Unlock()
	node, err := m.find("readdir", name)
	if err != nil {
		return nil, err
	}
	dir, ok := node.(*memDir)
	if !ok {
		return nil, pathError("readdir", name, unix.ENOTDIR)
	}
	var list []fs.DirEntry
	for entry, below := range dir.entries {
		list = append(list, fs.FileInfoToDirEntry(info(entry, below)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.about(OpStat, name)
	defer m.mu.Unlock()
	node, err := m.find("stat", name)
	if err != nil {
		return nil, err
	}
	return info(filepath.Base(name), node), nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(name string) error {
	m.about(OpSyncDir, name)
	defer m.mu.Unlock()
	node, err := m.find("sync", name)
	if err != nil {
		return err
	}
	dir, ok := node.(*memDir)
	if !ok {
		return pathError("sync", name, unix.ENOTDIR)
	}
	dir.sync()
	return nil
}

var _ FS = (*Mem)(nil)
