package membership

import "errors"

var (
	// ErrForeign says that a node belongs to another cluster.
	ErrForeign = errors.New("another cluster")
	// ErrDuplicate says that another node has this node's id.
	ErrDuplicate = errors.New("node id is taken")
	// ErrFacts says that a member's facts can't be read.
	ErrFacts = errors.New("malformed node facts")
	// ErrTooLong says that somebody sends more than a cluster has to say.
	ErrTooLong = errors.New("too much gossip")
	// ErrKeys says that a key ring can't be used.
	ErrKeys = errors.New("gossip keys")
)
