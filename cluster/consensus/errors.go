package consensus

import (
	"errors"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/core/kafka"
)

// ErrCorrupt says that the control directory can't be read. The text names the
// file.
var ErrCorrupt = errors.New("control log is damaged")

// ErrStranger says that the control log does not know this node.
var ErrStranger = errors.New("control log belongs to another node")

// ErrForeign says that this node's data are of another cluster than the nodes that it
// was told to join.
var ErrForeign = errors.New("another cluster")

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
