package controller

import "errors"

var (
	// ErrMalformed says that a heartbeat or its answer can't be read.
	ErrMalformed = errors.New("malformed heartbeat")
	// ErrNotLeading says that this node does not lead at present.
	ErrNotLeading = errors.New("this node does not lead the control plane")
)
