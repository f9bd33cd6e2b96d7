package vfs

import (
	"io"
	"io/fs"
	"os"
)

// Interceptor looks at each operation of a file system.
type Interceptor interface {
	// Before may stop an operation by returning its error.
	Before(op Op) error
	// After is told of an operation that was not stopped: how many bytes it moved
	// and its error.
	After(op Op, bytes int64, err error)
}

// Intercept is fsys with i in front of every operation. Files stay what they
// are: OS returns the same file as without i.
func Intercept(fsys FS, i Interceptor) FS { return &intercepted{fsys, i} }

type intercepted struct {
	fs FS
	i  Interceptor
}

// do runs one operation that moves no bytes.
func (x *intercepted) do(kind OpKind, name string, run func() error) error {
	op := Op{kind, name}
	if err := x.i.Before(op); err != nil {
		return err
	}
	err := run()
	x.i.After(op, 0, err)
	return err
}

func (x *intercepted) OpenFile(name string, flag int, perm fs.FileMode) (file File, err error) {
	err = x.do(OpOpen, name, func() error { file, err = x.fs.OpenFile(name, flag, perm); return err })
	if err != nil {
		return nil, err
	}
	return &interceptedFile{x, file, name}, nil
}

func (x *intercepted) Remove(name string) error {
	return x.do(OpRemove, name, func() error { return x.fs.Remove(name) })
}

func (x *intercepted) RemoveAll(name string) error {
	return x.do(OpRemove, name, func() error { return x.fs.RemoveAll(name) })
}

func (x *intercepted) Rename(from, to string) error {
	return x.do(OpRename, from, func() error { return x.fs.Rename(from, to) })
}

func (x *intercepted) MkdirAll(name string, perm fs.FileMode) error {
	return x.do(OpMkdir, name, func() error { return x.fs.MkdirAll(name, perm) })
}

func (x *intercepted) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = x.do(OpReadDir, name, func() error { list, err = x.fs.ReadDir(name); return err })
	return list, err
}

func (x *intercepted) Stat(name string) (info fs.FileInfo, err error) {
	err = x.do(OpStat, name, func() error { info, err = x.fs.Stat(name); return err })
	return info, err
}

func (x *intercepted) SyncDir(name string) error {
	return x.do(OpSyncDir, name, func() error { return x.fs.SyncDir(name) })
}

func (x *intercepted) Lock(name string, content []byte) (lock io.Closer, err error) {
	err = x.do(OpLock, name, func() error { lock, err = x.fs.Lock(name, content); return err })
	return lock, err
}

func (x *intercepted) Usage(name string) (u Usage, err error) {
	err = x.do(OpUsage, name, func() error { u, err = x.fs.Usage(name); return err })
	return u, err
}

type interceptedFile struct {
	x    *intercepted
	file File
	name string
}

// ReadAt and the writes spell do out, so that they allocate nothing.
func (f *interceptedFile) ReadAt(p []byte, off int64) (int, error) {
	op := Op{OpRead, f.name}
	if err := f.x.i.Before(op); err != nil {
		return 0, err
	}
	n, err := f.file.ReadAt(p, off)
	f.x.i.After(op, int64(n), err)
	return n, err
}

func (f *interceptedFile) WriteAt(p []byte, off int64) (int, error) {
	op := Op{OpWrite, f.name}
	if err := f.x.i.Before(op); err != nil {
		return 0, err
	}
	n, err := f.file.WriteAt(p, off)
	f.x.i.After(op, int64(n), err)
	return n, err
}

func (f *interceptedFile) Size() (size int64, err error) {
	err = f.x.do(OpStat, f.name, func() error { size, err = f.file.Size(); return err })
	return size, err
}

func (f *interceptedFile) Truncate(size int64) error {
	return f.x.do(OpTruncate, f.name, func() error { return f.file.Truncate(size) })
}

func (f *interceptedFile) Sync() error { return f.x.do(OpSync, f.name, f.file.Sync) }

func (f *interceptedFile) SyncData() error { return f.x.do(OpSyncData, f.name, f.file.SyncData) }

func (f *interceptedFile) Allocate(off, n int64) error {
	return f.x.do(OpAllocate, f.name, func() error { return f.file.Allocate(off, n) })
}

// Close always closes: an interceptor that stops it must not leak a file.
func (f *interceptedFile) Close() error {
	op := Op{OpClose, f.name}
	stopped := f.x.i.Before(op)
	err := f.file.Close()
	f.x.i.After(op, 0, err)
	if stopped != nil {
		return stopped
	}
	return err
}

func (f *interceptedFile) OS() *os.File { return f.file.OS() }
func (f *interceptedFile) Name() string { return f.name }
