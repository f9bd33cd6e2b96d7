package partition

import "errors"

// ErrNotDeletable says that a retention verdict asked for more than may go.
var ErrNotDeletable = errors.New("segments may not be deleted")

// ErrLeaving says that the log that a partition has left is not removed yet, so that it
// can't move again.
var ErrLeaving = errors.New("the log of the move before is not removed yet")
