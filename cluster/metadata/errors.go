package metadata

import "errors"

// ErrCorrupt says that bytes are not a command or snapshot of this build: they
// were damaged, or written by a newer build.
var ErrCorrupt = errors.New("metadata: corrupt encoding")
