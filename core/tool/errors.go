package tool

import "errors"

// ErrUnknownFile says that a file's name is none of those in a partition directory.
var ErrUnknownFile = errors.New("not a log, index, snapshot or checkpoint file")
