package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// OS is the file system of the operating system.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &osFile{f}, nil
}

func (osFS) Remove(name string) error                   { return os.Remove(name) }
func (osFS) RemoveAll(name string) error                { return os.RemoveAll(name) }
func (osFS) Rename(from, to string) error               { return os.Rename(from, to) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }

// MkdirAll first tries what is nearly always enough: one system call in place of
// three, for each of many partitions.
func (osFS) MkdirAll(name string, perm fs.FileMode) error {
	if os.Mkdir(name, perm) == nil {
		return nil
	}
	return os.MkdirAll(name, perm)
}

func (osFS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockContentMax bounds what is read of a lock that somebody else holds.
const lockContentMax = 4096

func (osFS) Lock(name string, content []byte) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, lockContentMax)) // best effort: for the message only
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &LockedError{name, strings.TrimSpace(string(holder))}
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	_, err = f.WriteAt(content, 0) // over what is there: on a full disk there may be no other room
	if err == nil {
		err = f.Truncate(int64(len(content)))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (osFS) Usage(name string) (Usage, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(name, &s); err != nil {
		return Usage{}, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	return Usage{Total: s.Blocks * uint64(s.Bsize), Available: s.Bavail * uint64(s.Bsize)}, nil
}

type osFile struct{ *os.File }

func (f *osFile) OS() *os.File { return f.File }

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) SyncData() error {
	defer runtime.KeepAlive(f.File)
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return pathError("fdatasync", f.Name(), err)
		}
	}
}

func (f *osFile) Allocate(off, n int64) error {
	defer runtime.KeepAlive(f.File)
	return pathError("fallocate", f.Name(), unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, off, n))
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
