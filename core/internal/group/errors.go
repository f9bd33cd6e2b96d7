package group

import "errors"

// ErrMalformed is a record that is none of __consumer_offsets.
var ErrMalformed = errors.New("malformed record")

// ErrForeign is a record of a kind that is not kept here: newer kinds of groups.
var ErrForeign = errors.New("record of a kind that is not known")
