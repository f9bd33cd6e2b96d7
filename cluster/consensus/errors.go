package consensus

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
)

// ErrCorrupt says that the control directory can't be read. The text names the
// file.
var ErrCorrupt = errors.New("control log is damaged")

// ErrNewer says that a newer build wrote what is in the control directory. The text names
// the file.
var ErrNewer = errors.New("control log was written by a newer build of Mortise: run that one, or a later one")

// unreadable is the error of a part of the control directory that can't be read.
func unreadable(where string, err error) error {
	if errors.Is(err, metadata.ErrNewer) {
		return fmt.Errorf("%w: %s: %w", ErrNewer, where, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, where, err)
}

// ErrStranger says that the control log does not know this node.
var ErrStranger = errors.New("control log belongs to another node")

// ErrForeign says that this node's data are of another cluster than the nodes that it
// was told to join.
var ErrForeign = errors.New("another cluster")

// ErrOtherBuild says that the nodes that this one was told to join run a build whose
// decisions this one can't follow, or the other way round.
var ErrOtherBuild = errors.New("another build of Mortise")

// ErrDuplicate says that another node with this node's id is alive.
var ErrDuplicate = errors.New("node id is taken")

// forClient turns an error of raft into what a client should be told: look for
// another controller when nothing was decided, or time out when that is not
// known.
func forClient(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrRaftShutdown),
		errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return kafka.ErrNotController.Err("")
	case errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrAbortedByRestore):
		return kafka.ErrRequestTimedOut.Err("")
	}
	return err
}
