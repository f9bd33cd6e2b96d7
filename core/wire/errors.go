package wire

import "errors"

// ErrMalformed says that bytes from a client are not the message that their key
// and version promise. Kafka's answer is to close the connection.
var ErrMalformed = errors.New("malformed request")
