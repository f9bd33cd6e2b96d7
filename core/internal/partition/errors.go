package partition

import "errors"

// ErrNotDeletable says that a retention verdict asked for more than may go.
var ErrNotDeletable = errors.New("segments may not be deleted")
