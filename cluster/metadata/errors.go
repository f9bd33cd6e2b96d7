package metadata

import "errors"

// ErrCorrupt says that bytes are not a command or snapshot of this build: they
// were damaged, or written by a newer build.
var ErrCorrupt = errors.New("metadata: corrupt encoding")

// ErrUnreadable says that a command can't be encoded so that every node reads it.
var ErrUnreadable = errors.New("metadata: a command that could not be read again")
