package record

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mortisemq/mortise/core/kafka"
)

// BuilderOptions say what stands in the header of a batch that is built. Mind
// the zero values: a batch without an idempotent producer has ProducerID
// kafka.NoProducerID, ProducerEpoch -1 and BaseSequence NoSequence.
type BuilderOptions struct {
	Codec           Codec
	Level           int // Kafka's compression.<codec>.level, or DefaultLevel
	TimestampType   TimestampType
	LogAppendTimeMS int64 // the batch's time if TimestampType is LogAppendTime
	ProducerID      kafka.ProducerID
	ProducerEpoch   kafka.ProducerEpoch
	BaseSequence    int32
	Transactional   bool
	Control         bool
	BaseOffset      kafka.Offset
	LeaderEpoch     kafka.LeaderEpoch
}

// PlainOptions are the options of a batch of no idempotent producer, as a client
// sends it.
func PlainOptions(codec Codec) BuilderOptions {
	return BuilderOptions{
		Codec:         codec,
		ProducerID:    kafka.NoProducerID,
		ProducerEpoch: -1,
		BaseSequence:  NoSequence,
		LeaderEpoch:   kafka.NoLeaderEpoch,
	}
}

// Builder makes one batch, record by record. It belongs to one goroutine.
type Builder struct {
	opts  BuilderOptions
	buf   []byte // header, then records uncompressed
	count int32
	last  int32 // offset delta of the last record
	base  int64 // timestamps
	max   int64
}

// NewBuilder starts a batch. It panics if the codec is none of Kafka's: that is a
// mistake in the program, never in its input.
func NewBuilder(o BuilderOptions) *Builder {
	if o.Codec >= codecCount {
		panic(fmt.Sprintf("record: NewBuilder with codec %d", o.Codec))
	}
	b := &Builder{opts: o}
	b.buf = make([]byte, HeaderSize, 1024)
	b.Reset()
	return b
}

// Reset forgets the records, so that the next batch of the same options can be
// built in the same memory. Batches that Bytes gave before stay good.
func (b *Builder) Reset() {
	b.buf = b.buf[:HeaderSize]
	b.count, b.last = 0, NoOffsetDelta
	b.base, b.max = NoTimestamp, NoTimestamp
}

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.count) }

// Size is the size of the batch in bytes if it is not compressed.
func (b *Builder) Size() int { return len(b.buf) }

// Append adds a record at the next offset. A nil key or value is null. The bytes
// are copied.
func (b *Builder) Append(timestampMS int64, key, value []byte, headers []Header) {
	b.AppendAt(b.last+1, timestampMS, key, value, headers)
}

// AppendAt adds a record at an offset relative to the batch's base offset. Deltas
// must grow; gaps are what compaction leaves.
func (b *Builder) AppendAt(offsetDelta int32, timestampMS int64, key, value []byte, headers []Header) {
	size := bytesSize(key) + bytesSize(value) + varintSize(int64(len(headers)))
	for _, h := range headers {
		size += varintSize(int64(len(h.Key))) + len(h.Key) + bytesSize(h.Value)
	}
	b.open(offsetDelta, timestampMS, size)
	b.buf = appendBytes(b.buf, key)
	b.buf = appendBytes(b.buf, value)
	b.buf = appendVarint(b.buf, int64(len(headers)))
	for _, h := range headers {
		b.buf = appendVarint(b.buf, int64(len(h.Key)))
		b.buf = append(b.buf, h.Key...)
		b.buf = appendBytes(b.buf, h.Value)
	}
}

// appendTail adds a record whose key, value and headers are encoded already.
func (b *Builder) appendTail(offsetDelta int32, timestampMS int64, tail []byte) {
	b.open(offsetDelta, timestampMS, len(tail))
	b.buf = append(b.buf, tail...)
}

// open writes a record's fields before the key; tail bytes follow.
func (b *Builder) open(offsetDelta int32, timestampMS int64, tail int) {
	if b.count == 0 {
		b.base = timestampMS
	}
	b.max = max(b.max, timestampMS)
	delta := timestampMS - b.base
	size := 1 + varintSize(delta) + varintSize(int64(offsetDelta)) + tail
	b.buf = appendVarint(b.buf, int64(size))
	b.buf = append(b.buf, 0) // attributes
	b.buf = appendVarint(b.buf, delta)
	b.buf = appendVarint(b.buf, int64(offsetDelta))
	b.last = offsetDelta
	b.count++
}

// Bytes finishes the batch and gives it in memory of its own. It panics if the
// batch is over 2 GiB, which no limit of Kafka lets happen.
func (b *Builder) Bytes() Batch {
	out, err := compress(make([]byte, HeaderSize, len(b.buf)), b.opts.Codec, b.opts.Level, b.buf[HeaderSize:])
	if err != nil || len(out) > math.MaxInt32 {
		panic(fmt.Sprintf("record: building a batch of %d bytes: %v", len(out), err))
	}
	batch := Batch(out)
	b.writeHeader(batch)
	batch.seal()
	return batch
}

func (b *Builder) writeHeader(h []byte) {
	o := &b.opts
	binary.BigEndian.PutUint64(h[posBaseOffset:], uint64(o.BaseOffset))
	binary.BigEndian.PutUint32(h[posLeaderEpoch:], uint32(o.LeaderEpoch))
	h[posMagic] = Magic
	binary.BigEndian.PutUint16(h[posAttributes:], o.attributes())
	binary.BigEndian.PutUint32(h[posLastOffsetDelta:], uint32(b.last))
	binary.BigEndian.PutUint64(h[posBaseTimestamp:], uint64(b.base))
	maxTimestamp := b.max
	if o.TimestampType == LogAppendTime {
		maxTimestamp = o.LogAppendTimeMS
	}
	binary.BigEndian.PutUint64(h[posMaxTimestamp:], uint64(maxTimestamp))
	binary.BigEndian.PutUint64(h[posProducerID:], uint64(o.ProducerID))
	binary.BigEndian.PutUint16(h[posProducerEpoch:], uint16(o.ProducerEpoch))
	binary.BigEndian.PutUint32(h[posBaseSequence:], uint32(o.BaseSequence))
	binary.BigEndian.PutUint32(h[posCount:], uint32(b.count))
}

func (o *BuilderOptions) attributes() uint16 {
	a := uint16(o.Codec)
	if o.TimestampType == LogAppendTime {
		a |= attrTimestampType
	}
	if o.Transactional {
		a |= attrTransactional
	}
	if o.Control {
		a |= attrControl
	}
	return a
}

func bytesSize(v []byte) int {
	if v == nil {
		return 1
	}
	return varintSize(int64(len(v))) + len(v)
}

func appendBytes(dst, v []byte) []byte {
	if v == nil {
		return append(dst, 1) // zigzag of -1
	}
	return append(appendVarint(dst, int64(len(v))), v...)
}
