package vfs

import (
	"io/fs"
	"time"
)

// memNode is a *memDir or a *memFile.
type memNode interface{ isDir() bool }

// memDir is a folder: its entries now, and those that a crash would leave.
type memDir struct {
	entries map[string]memNode
	durable map[string]memNode
	pending [][]memChange // steps since the last SyncDir, oldest first
}

// memChange sets an entry, or removes it (nil).
type memChange struct {
	name string
	node memNode
}

func newMemDir() *memDir {
	return &memDir{entries: map[string]memNode{}, durable: map[string]memNode{}}
}

func (*memDir) isDir() bool { return true }

// step changes entries as one step that a crash keeps or loses as a whole.
func (d *memDir) step(changes ...memChange) {
	apply(d.entries, changes)
	d.pending = append(d.pending, changes)
}

func apply(entries map[string]memNode, changes []memChange) {
	for _, c := range changes {
		if c.node == nil {
			delete(entries, c.name)
		} else {
			entries[c.name] = c.node
		}
	}
}

func (d *memDir) sync() {
	for _, changes := range d.pending {
		apply(d.durable, changes)
	}
	d.pending = nil
}

// memInfo implements fs.FileInfo.
type memInfo struct {
	name     string
	size     int64
	modified time.Time
	dir      bool
}

func info(name string, node memNode) fs.FileInfo {
	if f, ok := node.(*memFile); ok {
		return memInfo{name, f.data.size, f.modified, false}
	}
	return memInfo{name: name, dir: true}
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) ModTime() time.Time { return i.modified }
func (i memInfo) IsDir() bool        { return i.dir }
func (i memInfo) Sys() any           { return nil }
func (i memInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
