package compaction

import "errors"

// errMapTooSmall means that not even one batch's keys fit into the offset map.
var errMapTooSmall = errors.New("log.cleaner.dedupe.buffer.size is too small")
