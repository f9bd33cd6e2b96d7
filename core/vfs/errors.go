package vfs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// LockedError says who holds a lock.
type LockedError struct {
	Name   string
	Holder string // what the holder wrote into the lock
}

// Error implements error.
func (e *LockedError) Error() string {
	return fmt.Sprintf("%s is locked by another process (%s)", e.Name, e.Holder)
}

// IsNoSpace reports whether a write failed because the disk or a quota is full.
func IsNoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// notReplaced is why WriteFileAtomic left a file as it was.
type notReplaced struct{ error }

func (e notReplaced) Unwrap() error { return e.error }

// IsNotReplaced reports whether WriteFileAtomic failed before it touched the file, which
// has its old content then, as durable as it was.
func IsNotReplaced(err error) bool {
	var e notReplaced
	return errors.As(err, &e)
}
