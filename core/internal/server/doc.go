// Package server is where client sockets live: it accepts connections, cuts
// frames, starts handlers in order, and writes answers in order.
//
// It owns connections, the memory of frames, and the limits on both. It must not
// know what a request means: it looks at key and version, and the rest is the
// Handler's. DESIGN.md beside this file has the costs, measured.
//
// A connection is a pipeline with one reading goroutine:
//
//	read ─▶ cut frames ─▶ queue a slot, Handle ─▶ … ─▶ read
//	                          │ answered, any goroutine, any order
//	                          ▼
//	           slots in arrival order ─▶ write the answered prefix
//
// The prefix is written by the reader at the end of what it read, or, when an
// answer comes later, by a goroutine that lives as long as there is something to
// write. There is one writer at a time.
//
// Invariants:
//   - Handlers start, and answers leave, in arrival order.
//   - Answering never waits for the network.
//   - A frame's memory beyond the reader's own buffer is charged to the Budget
//     before it is allocated, and grows as bytes arrive.
//   - A slot is freed once, after its request was answered, also on a connection
//     that died.
//
// Lock order: Server.mu, then conn.mu; quota.Budget's lock is a leaf. No lock is
// held over the network, a handler, or a wait for memory.
package server
