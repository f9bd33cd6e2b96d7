package partition

import "errors"

// ErrNotDeletable says that a retention verdict asked for more than may go.
var ErrNotDeletable = errors.New("segments may not be deleted")

// ErrLeaving says that the log that a partition has left is not removed yet, so that it
// can't move again.
var ErrLeaving = errors.New("the log of the move before is not removed yet")

// ErrStaleRole says that what a fetcher brings belongs to a role that is over.
var ErrStaleRole = errors.New("the partition has another role by now")

// ErrBadAnswer says that a leader sent bytes that can't be appended: they are damaged, or
// don't follow the end of the log.
var ErrBadAnswer = errors.New("the leader's answer can't be appended")
