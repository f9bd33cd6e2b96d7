package record

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// Record is one record of a batch. Its slices point into the batch, or into
// memory of the Iterator that is given back on Close: copy what has to stay.
type Record struct {
	Offset     kafka.Offset
	Timestamp  int64  // ms; the append time in a LogAppendTime batch
	Attributes int8   // unused by Kafka so far
	Sequence   int32  // NoSequence without an idempotent producer
	Key        []byte // nil is null, which an empty key is not
	Value      []byte // nil is null, a tombstone where the topic is compacted

	headerCount int32
	headers     []byte // encoded; already checked
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte // nil is null
}

// HeaderCount is the number of headers.
func (r *Record) HeaderCount() int { return int(r.headerCount) }

// Headers decodes the headers. The values point into the record's memory.
func (r *Record) Headers() []Header {
	if r.headerCount == 0 {
		return nil
	}
	headers := make([]Header, 0, min(int(r.headerCount), len(r.headers)/2))
	i := 0
	for range r.headerCount {
		var h Header
		var key []byte
		key, i = readBytes(r.headers, i)
		h.Key = string(key)
		h.Value, i = readBytes(r.headers, i)
		headers = append(headers, h)
	}
	return headers
}

// Iterator walks the records of a batch. It belongs to one goroutine.
//
//	it := b.Records(record.DecompressLimits{})
//	defer it.Close()
//	for it.Next() { use(it.Record()) }
//	if err := it.Err(); err != nil { … }
type Iterator struct {
	batch   Batch
	limits  DecompressLimits
	rest    []byte
	left    int32
	scratch *[]byte
	entry   entry
	record  Record
	err     error
	begun   bool
}

// Records gives an iterator over the batch. It does not check the CRC.
// A compressed batch is decompressed as a whole by the first Next, bounded by
// limits.
func (b Batch) Records(limits DecompressLimits) *Iterator {
	return &Iterator{batch: b, limits: limits}
}

// Next goes to the next record and tells whether there is one. False means the
// end or an error, see Err.
func (it *Iterator) Next() bool {
	if it.err != nil {
		return false
	}
	if !it.begun {
		it.begun = true
		if it.err = it.begin(); it.err != nil {
			return false
		}
	}
	if it.left == 0 {
		return false
	}
	rest, bad := it.entry.parse(it.rest)
	if bad == nil && it.left == 1 && len(rest) > 0 {
		bad = recordsRemain()
	}
	if bad != nil {
		it.err = fmt.Errorf("%w at offset %d: record %d of %d: %s", ErrCorrupt,
			it.batch.BaseOffset(), it.batch.Count()-it.left, it.batch.Count(), bad.text)
		return false
	}
	it.rest = rest
	it.left--
	it.fill()
	return true
}

func recordsRemain() *malformed {
	return badRecord("Incorrect declared batch size, records still remaining in file")
}

// begin finds the records area.
func (it *Iterator) begin() error {
	it.left = it.batch.Count()
	if it.left < 0 {
		it.left = 0
		return fmt.Errorf("%w at offset %d: Found invalid record count %d in magic v2 batch",
			ErrCorrupt, it.batch.BaseOffset(), it.batch.Count())
	}
	it.rest = it.batch.payload()
	codec := it.batch.Codec()
	if it.left == 0 || codec == None {
		return nil
	}
	it.scratch = takeBuffer()
	out, err := decompress(*it.scratch, codec, it.rest, it.limits.bytes(len(it.rest)))
	*it.scratch = out
	if err != nil {
		return fmt.Errorf("batch at offset %d: %w", it.batch.BaseOffset(), err)
	}
	it.rest = out
	return nil
}

func (it *Iterator) fill() {
	e, b := &it.entry, it.batch
	it.record = Record{
		Offset:      b.BaseOffset() + kafka.Offset(e.offsetDelta),
		Timestamp:   b.BaseTimestamp() + e.timestampDelta,
		Attributes:  e.attributes,
		Sequence:    NoSequence,
		Key:         e.key,
		Value:       e.value,
		headerCount: e.headerCount,
		headers:     e.headers,
	}
	if b.TimestampType() == LogAppendTime {
		it.record.Timestamp = b.MaxTimestamp()
	}
	if first := b.BaseSequence(); first >= 0 {
		it.record.Sequence = addSequence(first, e.offsetDelta)
	}
}

// Record is the current record. The pointer is good until the next Next.
func (it *Iterator) Record() *Record { return &it.record }

// Err tells why Next gave false; nil at the end of the batch. It wraps ErrCorrupt
// or ErrTooLarge.
func (it *Iterator) Err() error { return it.err }

// Close gives back the memory of a decompressed batch. Records of the iterator
// must not be used after it.
func (it *Iterator) Close() {
	if it.scratch != nil {
		giveBuffer(it.scratch)
		it.scratch = nil
	}
	it.rest, it.left = nil, 0
	it.begun = true
	it.entry, it.record = entry{}, Record{}
}
