// Package fetcher is the follower's half of replication: it fetches what the leaders
// of this broker's followed partitions have, and hands it to those partitions.
//
// It owns what is asked of a leader and when: incremental fetch sessions (KIP-227),
// what an answer's error means, back-off, throttles (KIP-73), connections. It must not
// know how a log stores a batch, which batches are valid, or who leads: partition
// decides about bytes, reconcile says whom to follow.
//
// A Session is a step machine without I/O, time or goroutines: Next gives the bytes of
// a request, Handle takes an answer. A link is the small loop that moves those bytes
// over one connection; a Manager has one link for each leader and shard
// (num.replica.fetchers).
//
// # Costs
//
// An answer is read into one buffer; its records are appended from there, so that a
// follower copies bytes once, to the page cache. The next request leaves as soon as
// the last partition is appended; before anything is flushed, unless topics ask for that
// (flush.messages=1): then the disk works for all partitions of the answer at once, and
// is waited for once. A request names only
// what changed; building it costs what changed, not what is followed. A step with
// records allocates nothing here.
//
// An idle link has one goroutine and one request that its leader holds for
// replica.fetch.wait.max.ms. What must not wait for it, for example a partition that
// is new here, is sent as a second request on the same connection: our leaders answer
// the first one then.
//
// # Invariants
//
//   - Records are appended only where they were asked for: the answer is of the
//     newest request that changed what is wanted of the partition, and nothing moved
//     since.
//   - At most flightsMax requests are out, and their answers come in their order.
//   - A partition that gave an error leaves the leader's session until it is asked
//     for again, so that an error is not answered at the speed of the network.
//   - Who is followed no longer may still get an append: partition refuses what is of
//     another role.
//   - No length in an answer sizes a buffer before it was compared with the bound.
//
// Lock order: Manager.mu before link.mu; both cover memory only.
package fetcher
