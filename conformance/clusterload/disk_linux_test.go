package clusterload_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// Of a node's disk.
const (
	diskBytes = 8 << 30  // memory is taken for what is used
	sliceLeft = 64 << 10 // of a full disk, what may still be written
	fillTries = 100      // to make a disk full that is written to
)

// disk is a file system in memory for one node, which can be made full.
type disk struct {
	path    string
	changes atomic.Int64 // became full, became empty
	mu      sync.Mutex   // held while it is full
}

// newDisk makes a disk that is gone with the test. An error says that this process may
// not.
func newDisk(t testing.TB, dir string, id int) (*disk, error) {
	d := &disk{path: filepath.Join(dir, fmt.Sprintf("disk-%d", id))}
	if err := os.Mkdir(d.path, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount("tmpfs", d.path, "tmpfs", 0, fmt.Sprintf("size=%d", int64(diskBytes))); err != nil {
		return nil, fmt.Errorf("mount tmpfs at %s: %w", d.path, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.path, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", d.path, err)
		}
	})
	return d, nil
}

// fill leaves no space on the disk, but for a little, until undo.
func (d *disk) fill() (undo func() error, err error) {
	d.mu.Lock()
	for range fillTries {
		if err = d.shrink(); !errors.Is(err, unix.EINVAL) {
			break // else more was written in between than was to be left
		}
	}
	if err != nil {
		d.mu.Unlock()
		return nil, fmt.Errorf("fill %s: %w", d.path, err)
	}
	d.changes.Add(1)
	return func() error {
		defer d.mu.Unlock()
		defer d.changes.Add(1)
		return d.resize(diskBytes)
	}, nil
}

// shrink makes the disk as large as what is on it, and a little.
func (d *disk) shrink() error {
	var s unix.Statfs_t
	if err := unix.Statfs(d.path, &s); err != nil {
		return err
	}
	used := int64(s.Blocks-s.Bfree) * s.Bsize //nolint:unconvert // it differs by architecture
	return d.resize(used + sliceLeft)
}

// space waits until the disk is not full.
func (d *disk) space() {
	d.mu.Lock()
	defer d.mu.Unlock()
}

// resize gives the disk another size.
func (d *disk) resize(bytes int64) error {
	return unix.Mount("tmpfs", d.path, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", bytes))
}
