// Package rpc is the one place where contracts become messages and messages become
// contracts, in both directions, one file for each kind. Both ends of a connection
// are made here: Server in a plugin's process, Client in the broker.
//
// It must not know how a process is started (package host) or what a broker does
// with an answer.
//
// Invariants:
//
//   - Nothing that came over a connection is believed. The asker checks every answer
//     for length, range, known values, size and text before it leaves this package;
//     one that breaks the contract is a plugin.ErrBadAnswer as a whole. The answering
//     side checks every question the same way before a plugin's code sees it.
//   - No number in a message sizes an allocation: what is made is bounded by the
//     bytes that arrived, and those by MaxMessageBytes, or by less where many answers
//     may arrive at once.
//   - A panic in a plugin's method ends the call, not the process.
//   - Every call has a deadline; a caller that sets none gets the method's.
//   - What a plugin did not name as a feature is not asked for and not told: hosts,
//     committed offsets, credentials of other kinds.
//
// Lock order: Server.mu alone; it covers memory only. A plugin's code never runs
// under it.
package rpc
