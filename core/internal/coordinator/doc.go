// Package coordinator runs the state machines of room group: one shard for each
// partition of __consumer_offsets that this broker leads.
//
// It owns the order of operations, appends and answers; the loading of a partition
// when this broker begins to lead it, and the giving up when it no longer does; one
// timer a shard. It must not know requests (room api) nor the rules of groups (room
// group).
//
// A shard takes one operation at a time: the state machine decides, what it wants
// written is appended, and the outcome is told to it, all under the shard's lock.
// Answers go out once everything that the shard wrote before them is committed: in
// sync on as many replicas as the topic asks for, and on the disk where it asks for
// that. On a node that is alone that is at once. So nobody is told what the loss of
// this broker may still take, reads included. An answer that waits longer than
// offsets.commit.timeout.ms becomes COORDINATOR_NOT_AVAILABLE, although what it is
// about may still be committed; one whose broker is not the leader any more becomes
// NOT_COORDINATOR.
//
// Each new image is shown to every shard: topics that grew, came or went have members
// of the consumer protocol assigned anew. Which topics the expressions of a group stand
// for is looked up by one goroutine of the shard, while there is something to look up,
// lookupsAtOnce of them at a time; its answer is one more operation.
//
// Loading reads the partition from its start in pieces of loadBytes, loadsAtOnce
// partitions at a time; meanwhile the answer is COORDINATOR_LOAD_IN_PROGRESS. A
// record that can't be understood is counted, logged and passed over.
//
// __consumer_offsets has cleanup.policy=compact: what a load reads is what compaction
// has left and what came since.
//
// Invariants:
//   - Two shards of one partition are never active at once; a shard belongs to one
//     leader epoch. A leader that is none any more and does not know it yet answers
//     nothing that it wrote: nobody else has it.
//   - A parked request is answered when its shard ends.
//
// Lock order: Coordinator.mu, then shard.mu, then the partition's locks. shard.mu
// covers memory and the log's write; commits are waited for and answers are sent
// without it. What a partition calls when something is committed (committed) waits for
// no lock of this room: the write may be what calls it.
package coordinator
