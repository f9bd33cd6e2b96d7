package future

import "errors"

// errBehind says that the copy must be brought nearer to the log's end first.
var errBehind = errors.New("the copy is behind")

// errStuck says that the log has nothing to copy, and does not end where the copy does.
var errStuck = errors.New("the log gives nothing to copy")
