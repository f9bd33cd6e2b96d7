// Package compaction keeps the last value of every key of topics with
// cleanup.policy=compact, by Kafka's rules (Cleaner, LogCleanerManager), and removes
// the rest.
//
// It owns when a log is compacted, which records stay, and the checkpoint of how far
// logs were compacted (cleaner-offset-checkpoint). How segments are replaced is room
// commitlog's; it must not know requests or the cluster.
//
// A pass over a log reads its dirty part, from the checkpoint up to
// min(last stable offset, active segment, min.compaction.lag.ms), into an offset map:
// the last offset of every key. Then it copies the segments from the log's beginning
// on, without what the map says is old, several small ones into one. When the map is
// full the pass ends early, and the next one goes on.
//
// What stays is Kafka's decision record for record: offsets never change; a tombstone
// stays for delete.retention.ms after the first pass that saw it, counted from a
// horizon that is stamped into its batch; the last batch of every known producer stays,
// empty if need be, and so does the batch that ends the pass; data of aborted
// transactions goes at once, their markers once the data is gone and the horizon has
// passed. Beyond Kafka, the last batch of every segment stays, as an empty one of 61
// bytes: recovery knows by it how far a replaced segment reaches.
//
// Costs: nothing per partition between rounds, one timer for the broker. A pass reads
// the dirty part twice and the clean part once, writes what stays and syncs it. Memory
// is 24 bytes per key of the dirty part up to log.cleaner.dedupe.buffer.size for all
// threads, and the buffers of log.cleaner.io.buffer.size, only during a pass.
//
// Invariants:
//
//   - A record goes only if a newer one of its key is on the disk: the log is synced
//     up to the end of the pass first.
//   - A pass that fails, or is overtaken by a truncation or deletion, changes nothing
//     beyond the segments that it has replaced as a whole.
//   - Of a log that moves to another directory no tombstone goes: at most the pass that
//     ran when the move began is ended, and what a pass drops was superseded before the
//     pass before it.
//   - The checkpoint never passes what was compacted. After a truncation all of the log
//     counts as dirty.
//   - A log that can't be compacted stops nothing else. It is left alone until the
//     broker starts again; a metric and Scheduler.Status name it and why.
//
// Lock order: Scheduler.round, then Scheduler.mu, then the log's locks. Scheduler.round
// is held over a round and taken only by the timer and Close.
package compaction
