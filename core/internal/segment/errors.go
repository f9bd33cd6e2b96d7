package segment

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

var (
	// ErrCorrupt means that a file holds bytes that nobody wrote. The error names
	// the file and the position.
	ErrCorrupt = errors.New("log is corrupt")
	// ErrTruncated means that a file is shorter than a Range of it: whoever was
	// promised those bytes must be cut off.
	ErrTruncated = errors.New("range was truncated")
	// ErrTooManyFiles means that the process has no file descriptor left, even
	// after the cache gave some up.
	ErrTooManyFiles = errors.New("out of file descriptors: raise the open-file limit (ulimit -n)")
	// ErrDeleted means that the segment was deleted while it was looked at.
	ErrDeleted = errors.New("segment was deleted")
	// ErrNotCut means that a full disk has no room for what a truncation leaves of a file
	// that is being read: the segment is as it was.
	ErrNotCut = errors.New("segment was not cut")
	// ErrStop is what a visitor of Recover wraps to say that the data ends before
	// the batch that it was given.
	ErrStop = errors.New("not a continuation of the log")
)

// corrupt makes an ErrCorrupt with its place.
func corrupt(name string, pos int64, format string, args ...any) error {
	return fmt.Errorf("%w: %s at byte %d: %s", ErrCorrupt, name, pos, fmt.Sprintf(format, args...))
}

// OffsetsMax is the largest distance from a segment's base that its indexes can
// hold.
const OffsetsMax = kafka.Offset(1<<31 - 1)
