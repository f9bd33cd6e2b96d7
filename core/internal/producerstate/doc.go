// Package producerstate remembers, for one partition's log, what its producers
// wrote last: it finds duplicates and gaps in the sequences of idempotent
// producers and keeps track of open transactions (KIP-98, KIP-360, KIP-890).
//
// It owns Kafka's checks of protocol.md 3.2 and Kafka's .snapshot format, version
// 1:
//
//	0        2        6            10
//	+--------+--------+------------+---------
//	| int16  | uint32 | int32      | entries …
//	| version| CRC-32C| entries    |
//	+--------+--------+------------+---------
//	          the CRC covers byte 6 to the end
//
//	entry, 46 bytes:
//	int64 producerId | int16 epoch | int32 lastSequence | int64 lastOffset |
//	int32 offsetDelta | int64 timestamp | int32 coordinatorEpoch |
//	int64 currentTxnFirstOffset (-1: none)
//
// It must not know files, batches on disk or the high watermark: room commitlog
// feeds it and stores its snapshots.
//
// Invariants: a producer with an open transaction is never expired or evicted;
// the five last batches of a producer are in the order of their offsets.
//
// Concurrency: a State is safe for concurrent use, but Check and the Appended that
// follows it are one step only under the log's append lock. A Budget is shared by
// all logs. Lock order: State.mu and Budget.mu are never held together.
package producerstate
