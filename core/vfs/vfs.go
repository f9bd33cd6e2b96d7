package vfs

import (
	"io"
	"io/fs"
	"os"
)

// FS is the disk. It is safe for concurrent use.
type FS interface {
	// OpenFile opens name with the flags of package os. O_APPEND is not used.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Remove(name string) error
	RemoveAll(name string) error
	Rename(from, to string) error
	MkdirAll(name string, perm fs.FileMode) error
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes the entries of a folder (creates, renames, removes) durable.
	SyncDir(name string) error
	// Lock takes an exclusive lock on a file and writes content into it. When
	// somebody else holds it the error is a *LockedError.
	Lock(name string, content []byte) (io.Closer, error)
	// Usage says how full the disk of name is.
	Usage(name string) (Usage, error)
}

// File is an open file. ReadAt and WriteAt are safe for concurrent use.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes data and metadata durable, SyncData the data and what is needed
	// to read it.
	Sync() error
	SyncData() error
	// Allocate reserves space without changing the size. A file system that can't
	// gives an error; nothing has happened then.
	Allocate(off, n int64) error
	// OS is the file of the system for sendfile; nil: there is none.
	OS() *os.File
	Name() string
}

// Usage says how full a disk is, in bytes.
type Usage struct{ Total, Available uint64 }
