// Package alterpartition asks the cluster for the in-sync replicas that the leaders on
// this broker want (Kafka's AlterPartition), and has them look from time to time whether
// their followers keep up.
//
// It also tells the cluster of partitions whose log directory failed or is full, so that
// others lead them, while the image says that others can.
//
// It owns the way of a change to the cluster and back: what comes while a call is under
// way goes with the next one, so that a broker that lost a neighbour asks for thousands
// of partitions with a few calls. It must not know what is in sync: partitions decide
// what they want and what an answer means to them.
//
// A change is asked for again until its partition says that the answer settles it, or
// that the change is no longer its own: a leader must know whether a change was made.
//
// Costs: nothing runs while nobody wants anything, but one timer that fires twice in
// replica.lag.time.max.ms.
//
// Invariants:
//   - One call to the cluster at a time.
//   - A partition has one change under way, and one more if its copy failed or has no room.
//   - A partition is told every answer to its change, and nothing after Close.
//
// Lock order: Sender.mu is a leaf. Partitions are called without it.
package alterpartition
