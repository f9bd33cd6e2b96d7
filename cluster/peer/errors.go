package peer

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// ErrUnreachable says that a call never left this node: nobody listens there, or the
// one who does refused. It may be made again without harm.
var ErrUnreachable = errors.New("node is not reachable")

// ErrLost says that the connection ended while the call was under way. Whether it was
// done is not known.
var ErrLost = errors.New("connection to the node was lost")

// ErrClosed says that the port of this node is closed.
var ErrClosed = errors.New("peer port is closed")

// errMalformed says that the other end does not speak this protocol.
var errMalformed = errors.New("malformed peer message")

// errOtherVersion says that the other end speaks another version of this protocol.
var errOtherVersion = errors.New("another build of Mortise")

// errHungUp says that the other end closed the connection without a word.
var errHungUp = errors.New("it hung up at once: it is no node of a cluster, or one of another build")

// RefusedError says who answered at an address and why it wants nothing of us. It is
// an ErrUnreachable.
type RefusedError struct {
	Address string
	Node    kafka.BrokerID // NoBroker: not known
	Cluster string         // empty: it does not know
	Reason  string
	Format  bool // it writes decisions in another form (Options.Format)
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("node %d at %s refused: %s", e.Node, e.Address, e.Reason)
}

// Is makes it an ErrUnreachable.
func (e *RefusedError) Is(target error) bool { return target == ErrUnreachable }
