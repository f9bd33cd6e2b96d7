// Package segment is the bytes of a partition's files on disk: Kafka's .log with
// its .index, .timeindex and .txnindex (FORMAT.md has the pictures), read and
// written one segment at a time.
//
// It owns file names, index entries, the cache of open files and ranges of files
// that travel to a socket. It must not know about partitions, epochs, producers or
// when anything is committed: room commitlog puts segments in order.
//
// Invariants:
//
//   - Bytes below Segment.Size never change. Cutting a file that somebody may be
//     reading makes a new file with the part that stays; readers keep the old one.
//   - Index entries only ever point to the start of a batch. An index that says
//     otherwise is built again from the data; it is never trusted beyond the file.
//   - A file is closed when the cache has dropped it and the last Range is
//     released, in whatever order.
//
// Costs: Append is one pwrite and no allocation. Indexes of the active segment
// live in memory (8 bytes, and at most 12 for time, per index.interval.bytes, that
// is under 0.5 % of its data) and are written when it is rolled, closed, or synced
// with IndexFlushEntries waiting. A read near the end needs no pread, a sequential
// read elsewhere one, a random one two or three.
//
// Lock order: Segment.loading, Segment.opening, then Segment.mu, then Files.mu.
// Segment.mu covers memory and ftruncate; reads of the disk happen outside of it.
package segment
