package fetcher

import "errors"

// ErrAnswer says that a leader's answer can't be one: the connection ends.
var ErrAnswer = errors.New("answer of a leader")

// errLogin says that a leader did not take this broker's credential.
var errLogin = errors.New("login at a leader")

// errUnreachable says that a leader has no address on the replication listener.
var errUnreachable = errors.New("no address of the leader")

// errNoBatch says that a leader's records begin with none that is whole.
var errNoBatch = errors.New("records without a whole batch")
