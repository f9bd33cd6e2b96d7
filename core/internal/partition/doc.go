// Package partition is one partition on this broker: its role, its high
// watermark, and what produce, fetch and offset requests may do with its log.
//
// It owns the leader's rules: epoch fencing, min.insync.replicas, when data is
// committed, what a reader may see (HW, LSO), and how storage errors look to a
// client. It must not know requests, connections or the cluster's image: reconcile
// says which role it has, api says what a client wants.
//
// Until replication moves in, a leader's own copy is the only one that counts: the
// ISR is {self}, the high watermark follows the log end as long as
// min(min.insync.replicas, replication factor) is 1.
//
// Durability: an append whose topic asks for a flush (flush.messages) is answered
// by the group commit of its log directory; the caller hands over a Waiter and
// goes on.
//
// Costs: a partition that nobody uses has no goroutine, no timer and no open
// file. Append and Fetch allocate nothing of their own.
//
// Invariants:
//   - The high watermark never goes back while the broker runs, and never passes
//     the log end.
//   - An append happens only under the role it was admitted with.
//   - When Delete returns, no folder has the partition's name, and nobody removes one:
//     the log that a move left is gone, too.
//   - After its log directory failed, a partition answers KAFKA_STORAGE_ERROR
//     until the broker starts again.
//
// Lock order: Partition.mu, then the log's own locks. Partition.mu covers memory
// and the log's write, never a flush; purgatory and group commit are called
// without it.
package partition
