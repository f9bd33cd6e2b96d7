package commitlog

import (
	"errors"

	"github.com/mortisemq/mortise/core/internal/segment"
)

var (
	// ErrOffsetOutOfRange means that an offset lies outside of StartOffset to
	// EndOffset.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrStorage means that the disk failed the log. Unless vfs.IsNoSpace holds
	// for the error, the log stays failed until it is opened again.
	ErrStorage = errors.New("storage failed")
	// ErrCorrupt means that files hold what this log never wrote, below the
	// recovery point, where recovery must not cut. It names file and position.
	ErrCorrupt = segment.ErrCorrupt
	// ErrClosed means that the log was closed or deleted.
	ErrClosed = errors.New("log is closed")
	// ErrChanged means that segments were deleted or truncated while they were
	// rewritten.
	ErrChanged = errors.New("segments changed meanwhile")
	// ErrEpochBack means that a batch carries a leader epoch below the latest.
	ErrEpochBack = errors.New("leader epoch goes back")
)
