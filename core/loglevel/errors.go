package loglevel

import "errors"

// ErrLevel says that no level has the name.
var ErrLevel = errors.New("no such log level")

// ErrLogger says that no logger has the name.
var ErrLogger = errors.New("no such logger")

// ErrRoot says that the root logger must have a level.
var ErrRoot = errors.New("the root logger keeps its level")
