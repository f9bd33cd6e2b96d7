// Package group is the state machine of consumer groups with the classic protocol
// and of committed offsets, for the groups of one partition of __consumer_offsets.
//
// It owns who is in a group, its generation and protocol, when a rebalance begins
// and ends, who may commit, when offsets expire, and what is written about all
// that: Kafka's own record schemas, so that Kafka's tools print them and either
// broker can take the files over. It must not know logs, connections or the
// cluster. It is pure: it does no I/O, starts no goroutine and reads no clock. Time
// comes in as milliseconds since 1970; what is to be written and answered goes out
// as an Output; Next says when Expire wants to be called.
//
// How it is driven: call an operation, append Output.Records as one batch, tell the
// outcome to Appended, and send the Replies that it returns once the records are
// visible. Offsets and deletions take effect in Appended, so that memory never has
// what the log does not; members and generations change at once, and Appended takes
// back what the log refused.
//
// Costs: an operation is a few map accesses; a heartbeat writes one word, because a
// deadline that moves out is looked at again when it comes due. There is no timer
// and no goroutine per member.
//
// Invariants:
//   - A parked request (a Ticket) is answered exactly once.
//   - awaitingJoin counts the members with a parked JoinGroup.
//   - static maps each instance id to the one member that has it (KIP-345).
//   - State as rebuilt by Replay from the records written equals the live state,
//     but for what is not written: pending members, parked requests, deadlines.
//
// A State belongs to one goroutine at a time. It has no locks.
package group
