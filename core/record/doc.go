// Package record owns record batch format v2 of Kafka (magic 2): looking at a
// batch in place, checking one that a producer sent, patching what the leader
// patches, walking, building and compressing.
//
// It must not know where a batch came from or where it goes: no files, no
// network, no clock (the time is a parameter), no topics.
//
// # A record batch
//
// All integers are big-endian. The CRC-32C covers everything from attributes to
// the end, so the leader writes baseOffset and partitionLeaderEpoch without
// computing a checksum.
//
//	byte  0                   8           12          16  17          21    23
//	      +-------------------+-----------+-----------+---+-----------+-----+
//	      | baseOffset        | length    | leader    |mag| crc       |attri|
//	      | int64             | int32     | epoch i32 |ic | uint32    |butes|
//	      +-------------------+-----------+-----------+---+-----------+-----+
//	byte  23          27                  35                  43
//	      +-----------+-------------------+-------------------+
//	      | last      | baseTimestamp     | maxTimestamp      |
//	      | offset    | int64 ms          | int64 ms          |
//	      | delta i32 | (or delete horizon)|                  |
//	      +-----------+-------------------+-------------------+
//	byte  43                  51    53          57          61
//	      +-------------------+-----+-----------+-----------+----------------
//	      | producerId        |epoch| base      | count     | records ...
//	      | int64             |int16| sequence  | int32     | (compressed?)
//	      +-------------------+-----+-----------+-----------+----------------
//
//	length counts the bytes after itself: whole size = 12 + length, length >= 49.
//	attributes: bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control,
//	            6 delete horizon (baseTimestamp holds it), 7-15 unused.
//
// A record, in the uncompressed form of the records area; v = zigzag varint,
// l = zigzag varlong:
//
//	length v | attributes int8 | timestampDelta l | offsetDelta v
//	| keyLength v (-1 null) | key | valueLength v (-1 null) | value
//	| headers v | { keyLength v | key | valueLength v (-1 null) | value } ...
//
// # Invariants
//
//   - A Batch holds exactly one complete batch; who makes one (Next, Builder)
//     has checked that. Accessors do not check.
//   - Nothing here changes its input when it returns an error. Validate changes at
//     most the header of its input in place: a rebuilt batch is new memory.
//   - No length that was read sizes an allocation unchecked, and decompression is
//     bounded in bytes and in ratio by DecompressLimits.
//   - No goroutine is started, no lock is held. Everything except Iterator and
//     Builder is safe for concurrent use; those two belong to one goroutine.
package record
