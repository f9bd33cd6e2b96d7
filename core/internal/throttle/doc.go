// Package throttle bounds the bytes that background work reads and writes in a second.
//
// It owns the arithmetic and the waiting. It must not know what the bytes are.
//
// Invariant: over any time that is longer than one piece of work takes, no more is
// admitted than the rate allows; idle time is not saved up.
//
// Lock order: Rate.mu is a leaf; nobody waits under it.
package throttle
