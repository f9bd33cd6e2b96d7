// Package message is the form of what nodes say to each other: CBOR, written in one way
// and read strictly.
//
// It must not know what is said. Whoever reads bounds the bytes of a message; no part of
// one can claim more than its bytes hold. Fields that a build does not know are skipped,
// because nodes are upgraded one by one; numbers of fields are never used again.
//
// What is kept, the control log, has a form of its own: there an unknown field is an error.
package message
