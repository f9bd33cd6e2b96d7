// Package quota bounds what clients may hold: Budget is the number of bytes that
// requests in flight may take in the whole process (queued.max.request.bytes).
//
// It owns counting and waiting. It must not know what the bytes are or who asks.
//
// Invariants:
//   - Waiters are served in the order in which they came, so that a large request
//     is not starved by small ones.
//   - A request larger than the limit is admitted when nothing else is held: the
//     limit makes readers wait, it never makes a legal request impossible.
//
// Lock order: Budget.mu is a leaf; nothing is called under it.
package quota
