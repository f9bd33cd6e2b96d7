package vfs

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Counting is a file system that counts: tests hold hot paths to their number of
// system calls and look for files that were left open.
type Counting struct {
	FS
	c *counter
}

// NewCounting counts what is done to fsys through it.
func NewCounting(fsys FS) *Counting {
	c := &counter{open: map[string]int{}}
	return &Counting{Intercept(fsys, c), c}
}

// Counts is how often each operation was done, and the bytes moved.
type Counts struct {
	Ops        [opKinds]int64
	ReadBytes  int64
	WriteBytes int64
}

// Of is how often one kind of operation was done.
func (c Counts) Of(kind OpKind) int64 { return c.Ops[kind] }

// Syncs are all operations that wait for the disk.
func (c Counts) Syncs() int64 {
	return c.Ops[OpSync] + c.Ops[OpSyncData] + c.Ops[OpSyncDir]
}

// Sub is what came after earlier.
func (c Counts) Sub(earlier Counts) Counts {
	for k := range c.Ops {
		c.Ops[k] -= earlier.Ops[k]
	}
	c.ReadBytes -= earlier.ReadBytes
	c.WriteBytes -= earlier.WriteBytes
	return c
}

// Counts is what was done so far.
func (c *Counting) Counts() Counts {
	var out Counts
	for k := range out.Ops {
		out.Ops[k] = c.c.ops[k].Load()
	}
	out.ReadBytes, out.WriteBytes = c.c.read.Load(), c.c.written.Load()
	return out
}

// OpenFiles are the names of the files that are open, sorted, each as often as
// it is.
func (c *Counting) OpenFiles() []string {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	var names []string
	for name, n := range c.c.open {
		for range n {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

type counter struct {
	ops           [opKinds]atomic.Int64
	read, written atomic.Int64

	mu   sync.Mutex
	open map[string]int // guarded by mu
}

func (c *counter) Before(Op) error { return nil }

func (c *counter) After(op Op, bytes int64, err error) {
	c.ops[op.Kind].Add(1)
	switch op.Kind {
	case OpRead:
		c.read.Add(bytes)
	case OpWrite:
		c.written.Add(bytes)
	case OpOpen:
		if err == nil {
			c.opened(op.Name, 1)
		}
	case OpClose:
		if err == nil {
			c.opened(op.Name, -1)
		}
	}
}

func (c *counter) opened(name string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[name] += by; c.open[name] == 0 {
		delete(c.open, name)
	}
}
