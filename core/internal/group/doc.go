// Package group is the state machine of consumer groups and of committed offsets, for
// the groups of one partition of __consumer_offsets.
//
// It owns the groups of the classic protocol: who is in one, its generation and
// protocol, when a rebalance begins and ends. It owns what groups of both protocols
// have: who may commit, when offsets expire, deadlines, the way from one protocol to
// the other, and what is written about all that: Kafka's own record schemas, so that
// Kafka's tools print them and either broker can take the files over. The rules of the
// consumer protocol (KIP-848) are in room consumergroup; this room keeps one of its
// Groups for each such group, its deadlines (watch) and its offsets. It must not know
// logs, connections or who leads. It is pure: it does no I/O, starts no goroutine and
// reads no clock. Time comes in as milliseconds since 1970, the topics that there are
// as an image (SetImage); what is to be written and answered goes out as an Output;
// Next says when Expire wants to be called. What takes long, to look up which topics
// expressions stand for, goes out as a Lookup and comes back to Resolved.
//
// How it is driven: call an operation, append Output.Records as one batch, tell the
// outcome to Appended, and send the Replies that it returns once the records are
// visible. Offsets, deletions and all of the consumer protocol take effect in Appended,
// so that memory never has what the log does not; classic members and generations
// change at once, and Appended takes back what the log refused.
//
// Costs: an operation is a few map accesses; a heartbeat writes one word, because a
// deadline that moves out is looked at again when it comes due. There is no timer
// and no goroutine per member. A heartbeat of a member that has nothing new to say
// takes half a microsecond among 15,000 and allocates nothing, in both protocols.
//
// Size: as in Kafka the number of groups and of offsets has no bound of its own. Who
// may make groups is a matter of permission (READ on the group), members are bounded
// by group.max.size and group.consumer.max.size, and groups without members go when
// their offsets have expired (offsets.retention.minutes). Room coordinator shows how
// many there are. Ids that are given out and never used are bounded by pendingMax. What a
// classic member says is kept from its JoinGroup on, before a record says so: it is
// bounded by the size of a request and, for all, by group.max.size, as in Kafka.
//
// Invariants:
//   - A parked request (a Ticket) is answered exactly once.
//   - awaitingJoin counts the members with a parked JoinGroup.
//   - static maps each instance id to the one member that has it (KIP-345).
//   - A group is of one protocol: with consumers set, nothing of the classic one is.
//   - State as rebuilt by Replay from the records written equals the live state,
//     but for what is not written: pending members, parked requests, deadlines, and
//     which topic of its name an offset was committed for.
//
// A State belongs to one goroutine at a time. It has no locks.
package group
