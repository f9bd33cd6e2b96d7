// Package future moves partitions between the log directories of this broker (KIP-113,
// AlterReplicaLogDirs): a future replica, a copy in the other directory, catches up
// with the log while that serves, and takes its place.
//
// It owns the moves: which there are, the copying, its rate, the swap, and what is
// left of a move that a crash, a failed disk or a new request interrupted. It must not
// know requests; which directory a partition shall be in is said by whoever calls Move.
//
// The steps of a move, and what a crash leaves after each:
//
//  1. TOPIC-PARTITION.UUID-future is made and filled, rate permitting. The log is what
//     it was; the copy is taken up again at the next start (Resume).
//  2. The copy is synced, and with it its folder; what came meanwhile is copied.
//  3. Under the partition's lock the last bytes are copied, the copy's folder is renamed
//     to TOPIC-PARTITION, and everybody uses it from there on (partition.Replace). Both
//     directories have the name now. The next start keeps the log that ends later
//     (reconcile): the old one, if what the copy got last did not reach the disk, and
//     then nothing that came later was promised to be there; else the copy.
//  4. The copy is synced once more, with its name, and the checkpoints of its directory
//     are written.
//  5. The old folder is renamed to …-delete and removed.
//
// Between 3 and 5, some milliseconds, a crash with a loss of the new directory shows
// the old log's state at the next start.
//
// Costs: a move is one read and one write of every byte, and two syncs; there is no
// goroutine while nothing moves. Appends wait for the swap: lastMax bytes at most, a
// small file and a rename.
//
// Invariants:
//   - A partition has one move at most. A new request ends the one before.
//   - Only the worker that has a move touches its copy.
//   - No fault of the new directory costs the partition its log: the move ends, the log
//     serves.
//   - Moves share threads in turns of turnBytes: one that can't go on holds up none.
//
// Lock order: Partition.mu (in the swap), then the copy's own locks. Mover.mu is a leaf
// but for timers and contexts, which call nobody.
package future
