package logdir

import (
	"errors"
	"io/fs"
	"syscall"
)

// ErrOffline says that the log directory is out of use since an I/O error.
var ErrOffline = errors.New("log directory is offline")

// ErrFull says that the log directory's file system had no space a moment ago.
var ErrFull = errors.New("log directory is full")

// ErrClosed says that the broker stops.
var ErrClosed = errors.New("log directories are closed")

// ErrIdentity says that a directory belongs to another cluster or node.
var ErrIdentity = errors.New("log directory belongs to somebody else")

// ErrNoDirectory says that no log directory is online.
var ErrNoDirectory = errors.New("no log directory is online")

// errMalformed says that a checkpoint or properties file can't be read.
var errMalformed = errors.New("malformed")

// isHandleLimit reports whether the process ran out of file handles.
func isHandleLimit(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// isNotExist reports whether a file is missing.
func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
