// Package consumergroup is one group of the consumer protocol (KIP-848): who is in it,
// in which epoch, what everybody should have and what everybody has, and the records
// that say so.
//
// It owns the rules of the protocol as Kafka 4.4 has them: joining, leaving, fencing,
// static members, when a new epoch begins, when the target assignment is computed
// (room assignor says what it is), how members are moved towards it, expressions, who
// may commit, and members that use the classic protocol in such a group. It must not
// know time, deadlines, requests that wait, offsets, or other groups: that is room
// group, which holds both protocols and the way between them. It is a room of its own
// because it is another state machine than the classic one: the two share offsets,
// deadlines and the log, and nothing of their rules.
//
// How it is driven: an operation (Heartbeat, JoinClassic, Remove, Pause, Resolved)
// decides and changes nothing. It gives Changes; each is one record in Kafka's schema
// and what it means. When they are in the log, Apply makes them. Loading decodes the
// same Changes from records, so that a group is after a restart what it was before.
//
// Terms: the group's epoch grows when who is in it, what they subscribe to or the
// topics change. The target's epoch says for which of them the target was computed. A
// member's epoch says which target it is on. In between a member gives up what it
// should not have any more (Unrevoked), and waits for what others still have
// (Unreleased).
//
// Costs: a heartbeat that brings nothing new is a few map accesses and comparisons, and
// allocates nothing. A change of members computes a target: in proportion to members
// and partitions.
//
// Invariants:
//   - A partition is given to a member only when nobody has it: its last owner said
//     that it gave it up, or was taken out. owners has each partition that somebody
//     has, with the epoch of the member.
//   - Epochs of a group and of its members do not go back, but for static members that
//     are away or join again.
//   - A Member in a Group is never changed; another takes its place.
//
// A Group belongs to one goroutine at a time. It has no locks.
package consumergroup
