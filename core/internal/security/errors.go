package security

import "errors"

// Reasons why a connection closes. None is for the client.
var (
	// ErrRefused: the credential is wrong; the client was told.
	ErrRefused = errors.New("authentication failed")
	// ErrUnavailable: the authenticator or authorizer can't say; the client shall try
	// again.
	ErrUnavailable = errors.New("who may do what can't be found out now")
	// ErrOrder: a request that has no place in the SASL exchange.
	ErrOrder = errors.New("request out of order in the SASL exchange")
	// ErrMechanism: a SASL mechanism that the listener does not have.
	ErrMechanism = errors.New("SASL mechanism not enabled")
	// ErrExpired: the session is over and the client did not authenticate anew
	// (KIP-368).
	ErrExpired = errors.New("session expired")
)
