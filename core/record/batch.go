package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/mortisemq/mortise/core/kafka"
)

const (
	// HeaderSize is the size of a batch without records, in bytes.
	HeaderSize = 61
	// LogOverhead is the size of baseOffset and length, in bytes. The length
	// field does not count it; every size limit of Kafka does.
	LogOverhead = 12
	// Magic is the only format version that is written and read here.
	Magic = 2

	minLength = HeaderSize - LogOverhead
)

// Where the fields of the header are, in bytes from the start of the batch.
const (
	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57
)

// Bits of the attributes.
const (
	attrCodec         = 0x07
	attrTimestampType = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// NoTimestamp stands for a timestamp that is not known (-1 on the wire).
const NoTimestamp int64 = -1

// NoSequence is the base sequence of a batch without an idempotent producer.
const NoSequence int32 = -1

// castagnoli is the table of CRC-32C; hash/crc32 takes the processor's
// instruction for it where there is one.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is a view of exactly one complete record batch of format v2. Accessors
// read in place and check nothing: Next or Builder made sure of the size.
type Batch []byte

// Size tells the whole size of a batch in bytes from its first 12 bytes. It gives
// ErrShort if head is shorter, ErrCorrupt if the length cannot be a batch's. The
// result is not limited otherwise: check it before allocating.
func Size(head []byte) (int, error) {
	if len(head) < LogOverhead {
		return 0, ErrShort
	}
	length := int32(binary.BigEndian.Uint32(head[posLength:]))
	if length < minLength || length > math.MaxInt32-LogOverhead {
		return 0, fmt.Errorf("%w: length field is %d, the least is %d", ErrCorrupt, length, minLength)
	}
	return LogOverhead + int(length), nil
}

// Next cuts the first batch off b. It looks at sizes and magic only: the CRC and
// the records are not checked. It gives ErrShort when b is empty or ends within
// the batch, ErrCorrupt when there is no batch of format v2; rest is then b.
//
// Cost: no allocation unless it fails.
func Next(b []byte) (batch Batch, rest []byte, err error) {
	n, err := Size(b)
	if err != nil {
		return nil, b, err
	}
	if len(b) > posMagic && b[posMagic] != Magic {
		return nil, b, fmt.Errorf("%w: magic is %d, want %d", ErrCorrupt, int8(b[posMagic]), Magic)
	}
	if len(b) < n {
		return nil, b, ErrShort
	}
	return Batch(b[:n:n]), b[n:], nil
}

func (b Batch) i16(at int) int16 { return int16(binary.BigEndian.Uint16(b[at:])) }
func (b Batch) i32(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func (b Batch) i64(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

// BaseOffset is the offset of the first record the batch was made with.
func (b Batch) BaseOffset() kafka.Offset { return kafka.Offset(b.i64(posBaseOffset)) }

// LastOffset is the offset of the last record the batch was made with. It stays
// when compaction removes that record.
func (b Batch) LastOffset() kafka.Offset {
	return b.BaseOffset() + kafka.Offset(b.LastOffsetDelta())
}

// NextOffset is the offset after the batch.
func (b Batch) NextOffset() kafka.Offset { return b.LastOffset() + 1 }

// LeaderEpoch is the epoch of the leader that appended the batch. What a
// producer wrote there means nothing.
func (b Batch) LeaderEpoch() kafka.LeaderEpoch { return kafka.LeaderEpoch(b.i32(posLeaderEpoch)) }

// Magic is the format version; 2 in every Batch that Next gave.
func (b Batch) Magic() int8 { return int8(b[posMagic]) }

// CRC is the checksum as stored; CheckCRC compares it.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[posCRC:]) }

// Attributes are the raw attribute bits.
func (b Batch) Attributes() int16 { return b.i16(posAttributes) }

// Codec is the compression of the records area. It may be a number that is no
// codec (5 to 7).
func (b Batch) Codec() Codec { return Codec(b[posAttributes+1] & attrCodec) }

// TimestampType tells whose clock set the timestamps.
func (b Batch) TimestampType() TimestampType {
	return TimestampType(b[posAttributes+1] & attrTimestampType >> 3)
}

// Transactional tells whether the batch belongs to a transaction.
func (b Batch) Transactional() bool { return b[posAttributes+1]&attrTransactional != 0 }

// Control tells whether the batch holds markers of the broker and no user data.
func (b Batch) Control() bool { return b[posAttributes+1]&attrControl != 0 }

// HasDeleteHorizon tells whether compaction put a delete horizon in the place of
// the base timestamp.
func (b Batch) HasDeleteHorizon() bool { return b[posAttributes+1]&attrDeleteHorizon != 0 }

// DeleteHorizon is the time in ms after which tombstones of the batch may go;
// NoTimestamp if compaction has not set it.
func (b Batch) DeleteHorizon() int64 {
	if !b.HasDeleteHorizon() {
		return NoTimestamp
	}
	return b.BaseTimestamp()
}

// LastOffsetDelta is LastOffset minus BaseOffset.
func (b Batch) LastOffsetDelta() int32 { return b.i32(posLastOffsetDelta) }

// BaseTimestamp is what the records' timestamp deltas count from, in ms.
func (b Batch) BaseTimestamp() int64 { return b.i64(posBaseTimestamp) }

// MaxTimestamp is the largest timestamp of the batch in ms, or the append time.
func (b Batch) MaxTimestamp() int64 { return b.i64(posMaxTimestamp) }

// ProducerID is NoProducerID unless the producer is idempotent.
func (b Batch) ProducerID() kafka.ProducerID { return kafka.ProducerID(b.i64(posProducerID)) }

// ProducerEpoch is the producer's epoch.
func (b Batch) ProducerEpoch() kafka.ProducerEpoch {
	return kafka.ProducerEpoch(b.i16(posProducerEpoch))
}

// BaseSequence is the sequence number of the first record, NoSequence without an
// idempotent producer and in control batches.
func (b Batch) BaseSequence() int32 { return b.i32(posBaseSequence) }

// LastSequence is the sequence number of the last record. Sequences wrap from
// 2^31-1 to 0.
func (b Batch) LastSequence() int32 {
	first := b.BaseSequence()
	if first < 0 {
		return NoSequence
	}
	return addSequence(first, b.LastOffsetDelta())
}

// addSequence is the sequence number delta records after first.
func addSequence(first, delta int32) int32 {
	return int32((int64(first) + int64(delta)) & math.MaxInt32)
}

// Count is the number of records. It is 0 in a batch that compaction emptied but
// kept for its producer's state.
func (b Batch) Count() int32 { return b.i32(posCount) }

// payload is the records area as stored.
func (b Batch) payload() []byte { return b[HeaderSize:] }

// CheckCRC compares the stored checksum with the bytes. The error wraps
// ErrCorrupt.
//
// Cost: one pass over the batch, no allocation unless it fails.
func (b Batch) CheckCRC() error {
	if got := crc32.Checksum(b[posAttributes:], castagnoli); got != b.CRC() {
		return fmt.Errorf("%w: checksum is %08x, stored is %08x", ErrCorrupt, got, b.CRC())
	}
	return nil
}

// Assign writes what the leader decides: the offset of the first record and the
// leader's epoch. Both are outside of the checksum.
//
// Cost: 12 bytes written in place.
func (b Batch) Assign(base kafka.Offset, epoch kafka.LeaderEpoch) {
	binary.BigEndian.PutUint64(b[posBaseOffset:], uint64(base))
	binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(epoch))
}

// seal writes the length and the checksum of a batch that was built or changed.
func (b Batch) seal() {
	binary.BigEndian.PutUint32(b[posLength:], uint32(len(b)-LogOverhead))
	binary.BigEndian.PutUint32(b[posCRC:], crc32.Checksum(b[posAttributes:], castagnoli))
}
