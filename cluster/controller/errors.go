package controller

import "errors"

var (
	// ErrMalformed says that a heartbeat or its answer can't be read.
	ErrMalformed = errors.New("malformed heartbeat")
	// ErrNoLeader says that no leader answers.
	ErrNoLeader = errors.New("no leader of the control plane answers")
	// ErrNotLeading says that this node does not lead at present.
	ErrNotLeading = errors.New("this node does not lead the control plane")
)
