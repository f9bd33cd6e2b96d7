package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// CrashOptions say what a power loss does to what was not made durable.
type CrashOptions struct {
	// KeepUnsynced is the chance that a step which was not made durable is there
	// all the same: 0 loses them all, 1 keeps them all.
	KeepUnsynced float64
	// Torn lets a kept write be cut at a sector.
	Torn bool
	// Rand decides; nil is allowed with KeepUnsynced 0 or 1 and no Torn.
	Rand *rand.Rand
}

// sectorBytes is what a disk writes as a whole.
const sectorBytes = 512

// Crash is the disk after a power loss now. The disk itself goes on; a test
// reopens what Crash returned. Writes to one file are kept or lost each by
// itself, as a page cache may; steps in one folder are lost from the end, as a
// journal loses them.
func (m *Mem) Crash(o CrashOptions) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := NewMem()
	after.capacity = m.capacity
	after.root = o.dir(m.root, map[memNode]memNode{})
	after.used = fileBytes(after.root)
	return after
}

// dir is what is left of a folder. seen keeps a node one node.
func (o CrashOptions) dir(d *memDir, seen map[memNode]memNode) *memDir {
	if s, ok := seen[d]; ok {
		return s.(*memDir)
	}
	left := newMemDir()
	seen[d] = left
	entries := maps.Clone(d.durable)
	for _, step := range d.pending {
		if !o.keep() {
			break
		}
		apply(entries, step)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) { // in order, for one seed one result
		var node memNode
		switch below := entries[name].(type) {
		case *memDir:
			node = o.dir(below, seen)
		case *memFile:
			node = o.file(below, seen)
		}
		left.entries[name], left.durable[name] = node, node
	}
	return left
}

// file is what is left of a file.
func (o CrashOptions) file(f *memFile, seen map[memNode]memNode) *memFile {
	if s, ok := seen[f]; ok {
		return s.(*memFile)
	}
	image := f.synced.snapshot()
	for _, w := range f.pending {
		if !o.keep() {
			continue
		}
		if o.Torn && w.n > 1 && o.Rand.IntN(2) == 0 {
			if w = w.cut(o.tear(w)); w.n == 0 {
				continue
			}
		}
		w.apply(&image)
	}
	left := &memFile{data: image, synced: image.snapshot(), modified: f.modified, named: true}
	seen[f] = left
	return left
}

// tear is where a write is cut: at the end of a sector of the file.
func (o CrashOptions) tear(w memWrite) int {
	cut := o.Rand.IntN(w.n)
	over := int((w.off + int64(cut)) % sectorBytes)
	return max(0, cut-over)
}

func (o CrashOptions) keep() bool {
	switch {
	case o.KeepUnsynced <= 0:
		return false
	case o.KeepUnsynced >= 1:
		return true
	}
	return o.Rand.Float64() < o.KeepUnsynced
}

func fileBytes(node memNode) int64 {
	if f, ok := node.(*memFile); ok {
		return f.data.size
	}
	sum := int64(0)
	for _, below := range node.(*memDir).entries {
		sum += fileBytes(below)
	}
	return sum
}
