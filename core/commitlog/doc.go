// Package commitlog is one partition's log: it appends batches, reads ranges of
// them, rolls, truncates, deletes and recovers, on Kafka's files.
//
// It owns a partition's folder: the order of its segments, the log start and log
// end offset, the recovery point, the leader epochs and the producers' state. The
// bytes of the files are room segment's; when a record counts as committed, who
// leads and what retention wants are not known here.
//
// Invariants:
//
//   - StartOffset ≤ RecoveryPoint ≤ EndOffset after Open; the start never goes
//     back except by a truncation to an offset below it.
//   - Bytes that were visible to a reader never change: a truncation that cuts
//     into a range in flight replaces the file instead of changing it.
//   - A replacement of segments (Rewriter) is there as a whole after a crash, or not
//     at all; it never moves the start, the end or an offset.
//   - A batch is visible (EndOffset) only after its write returned.
//   - After a failed fsync, or a failed write that could not be undone, every
//     operation gives ErrStorage until the log is opened again.
//
// Costs: Append is one write and no allocation; a fetch at the tail reads nothing
// from disk before the range itself is sent; an idle log holds no open file.
//
// Lock order: Log.ctl (truncate, delete, replace, close) before Log.syncing before Log.mu
// (appends) before the locks of segment and producerstate. Log.mu covers memory
// and write, not fsync: Sync runs beside appends. Truncate is the one exception, and
// says why.
package commitlog
