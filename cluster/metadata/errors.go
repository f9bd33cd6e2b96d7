package metadata

import "errors"

// ErrCorrupt says that bytes are not a command or snapshot of this build: they
// were damaged, or written by a newer build.
var ErrCorrupt = errors.New("metadata: corrupt encoding")

// ErrNewer says that bytes are whole and were written by a newer build. It is an
// ErrCorrupt.
var ErrNewer error = newerError{}

// newerError is the type of ErrNewer.
type newerError struct{}

// Error implements error.
func (newerError) Error() string { return "metadata: written by a newer build" }

// Is makes it an ErrCorrupt.
func (newerError) Is(target error) bool { return target == ErrCorrupt }

// ErrUnreadable says that a command can't be encoded so that every node reads it.
var ErrUnreadable = errors.New("metadata: a command that could not be read again")
