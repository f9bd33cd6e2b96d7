// Package tool reads Kafka's partition files offline: Dump prints them, Inspect and
// Verify look for damage. It is the library of "mortise log dump" and "mortise log
// verify".
//
// It owns decoders of its own for every file format, on purpose: they check what
// the log room writes, so they must not share its mistakes. It must not know the
// running broker, and it never writes.
//
// # Files of a partition directory
//
//	%020d.log        record batches, one after another (package record)
//	%020d.index      { offset - base int32 | position int32 } ...
//	                 sorted; offset is the last one of the batch at position
//	%020d.timeindex  { timestamp int64 | offset - base int32 } ...
//	                 no batch up to offset has a later timestamp
//	%020d.txnindex   { version int16 | producer id int64 | first offset int64
//	                 | last offset int64 | last stable offset int64 } ...
//	%020d.snapshot   producers at that offset: version int16 | CRC-32C of the rest
//	                 uint32 | count int32 | entries of 46 bytes
//	leader-epoch-checkpoint   text: 0, count, then "epoch startOffset" lines
//	partition.metadata        text: "version: 0", "topic_id: ..."
//
// Kafka preallocates the index files of an active segment: an all-zero tail is
// unused space, not entries.
//
// # Invariants
//
//   - Memory is bounded: one batch, one decompressed batch, one block of an index,
//     and the findings, all with named limits.
//   - Files are opened read-only. A broker may be running; its active segment then
//     may end in a torn batch, which is a finding like any other.
//   - No lock is held and no goroutine started.
package tool
