// Package partition is one partition on this broker: its role, its high
// watermark, and what produce, fetch, replication and offset requests may do with its
// log.
//
// It owns the leader's rules: epoch fencing, min.insync.replicas, when data is
// committed, what a reader may see (HW, LSO), how storage errors look to a
// client; and the follower's: what of a leader's answer is appended, and what of the own
// log goes when the histories part. It must not know requests, connections or the
// cluster's image: reconcile says which role it has, api says what a client wants,
// a fetcher brings what the leader sent. Who is in sync is room isr's; what the leader
// wants to change about it goes out by Parts.ProposeISR and comes back by ISRAnswered.
//
// A follower truncates by leader epoch alone, never to the high watermark (KIP-101): it
// learns that one round late, so that what it has above it may be committed.
//
// Durability: an append whose topic asks for a flush (flush.messages) is answered
// by the group commit of its log directory; one that waits for replicas is answered by
// whoever moves the high watermark over it. The caller hands over a Waiter and goes on.
// A follower of such a topic waits for the disk before it fetches again, once for all
// partitions of an answer (Flush).
//
// Costs: a partition that nobody uses has no goroutine, no timer and no open
// file. Append, Fetch, ReplicaFetch and AppendAsFollower allocate nothing of their own.
// One timer serves the time limits of all partitions.
//
// Invariants:
//   - The high watermark never goes back while the broker runs, but with the log end
//     when a follower truncates; and never passes the log end.
//   - An append happens only under the role it was admitted with, a truncation only
//     while the role stays.
//   - After a truncation nothing is appended before the checkpoints no longer speak of
//     what is gone, however long the disk is full (home.settle).
//   - Who waits for replicas is told once; when this broker leads no longer, at once.
//   - At most one change of the in-sync replicas is asked for at a time.
//   - When Delete returns, no folder has the partition's name, and nobody removes one:
//     the log that a move left is gone, too.
//   - After its log directory failed, a partition answers KAFKA_STORAGE_ERROR
//     until the broker starts again.
//
// Lock order: Partition.ctl (changes of role, truncations, moves) before Partition.mu
// before the log's own locks and timeouts.mu. Partition.mu covers memory and the log's
// write, never a flush; ctl covers the flushes of a truncation, too. Purgatory, group
// commit, waiters and ProposeISR are called without mu.
package partition
