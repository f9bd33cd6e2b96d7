// Package logdir owns the broker's log directories: their identity and lock, the
// checkpoints of the logs in them, the mark of a clean shutdown, the group
// commit, and what happens when a disk is full or broken.
//
// Files of a directory, all in Kafka's formats but the last:
//
//	meta.properties                    version, cluster.id, node.id, directory.id
//	.lock                              held while a broker uses the directory
//	recovery-point-offset-checkpoint   topic partition offset: flushed up to here
//	log-start-offset-checkpoint        topic partition offset: readable from here
//	replication-offset-checkpoint      topic partition offset: high watermark
//	.kafka_cleanshutdown               JSON; there only between a clean stop and the next start
//	.mortise-reserve                   space that a full disk gives back, so that deletion and
//	                                   shutdown can write what they must
//
// A log that moves here from another directory is copied into TOPIC-PARTITION.UUID-future
// (KIP-113) and renamed when the copy is whole. A crash can leave the log under its own
// name in both directories then: the one that ends later has all that was acknowledged.
//
// It knows logs by the Replica interface alone; it must not know roles, requests
// or what a segment looks like.
//
// Invariants:
//   - A directory that was failed stays offline until the broker starts again. A
//     failed fsync is never repeated as if nothing had happened.
//   - A checkpoint file is replaced whole or not at all; one that can't be read
//     counts as absent (the safe side: more is recovered than needed).
//   - No line speaks of a log that is gone once another gets its name (Free).
//   - A log start is written before the recovery point that rose with it.
//   - The clean-shutdown mark is removed, durably, before any log is opened. It comes
//     back after the checkpoints of an orderly stop, in which every log was closed
//     and synced; never over a log that nobody recovered.
//   - A full directory is not offline, and is full no longer by itself (Dir.Full).
//   - Data without the id of their topic are nobody's (Owner).
//   - Every waiter of the group commit is answered exactly once, after an
//     fdatasync that began after its append, or with an error.
//
// Lock order: Set.checkpoint before Set.mu and members.mu; those and Syncer.mu are leaves. No
// lock is held over a sync of a log; Set.checkpoint, which only checkpoint
// writers take, covers the writing of checkpoint files.
package logdir
