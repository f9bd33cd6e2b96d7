package record

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Filter makes batches with some of their records left out, which is what
// compaction does. It keeps its memory between batches and belongs to one
// goroutine.
type Filter struct {
	Compression CompressionType // what batches that change are compressed with
	Level       int             // of Compression, or DefaultLevel
	Limits      DecompressLimits

	kept []keptRecord
	buf  []byte
}

// keptRecord points into the memory of the batch that is filtered.
type keptRecord struct {
	delta      int32
	attributes int8
	timestamp  int64
	tail       []byte
}

// Filtered is what a Filter made of a batch.
type Filtered struct {
	Batch      Batch // nil when no record was kept
	Read, Kept int   // records
}

// Apply keeps the records that keep names. What remains of the batch says the same
// as before: offsets, sequences, epochs, and the last offset even when its record is
// gone. If a tombstone is kept, or horizonNow asks for it, and the batch has no delete
// horizon yet, it gets horizonMS. A batch that does not change is given as it is.
//
// Cost: one decompression; for a batch that changes one compression and the memory
// of the new one.
func (f *Filter) Apply(b Batch, horizonMS int64, horizonNow bool, keep func(*Record) bool) (Filtered, error) {
	var out Filtered
	f.kept = f.kept[:0]
	it := b.Records(f.Limits)
	defer it.Close()
	for it.Next() {
		r := it.Record()
		out.Read++
		if !keep(r) {
			continue
		}
		horizonNow = horizonNow || r.Value == nil
		f.kept = append(f.kept, keptRecord{it.entry.offsetDelta, r.Attributes, r.Timestamp, it.entry.tail})
	}
	if err := it.Err(); err != nil {
		return out, err
	}
	out.Kept = len(f.kept)
	stamp := horizonNow && !b.HasDeleteHorizon()
	switch {
	case out.Kept == 0:
		return out, nil
	case out.Kept == out.Read && !stamp:
		out.Batch = b
		return out, nil
	case !stamp:
		horizonMS = b.DeleteHorizon()
	}
	var err error
	out.Batch, err = f.rebuild(b, horizonMS, stamp || b.HasDeleteHorizon())
	return out, err
}

// rebuild makes the batch of the kept records.
func (f *Filter) rebuild(b Batch, horizonMS int64, horizon bool) (Batch, error) {
	base, latest := f.kept[0].timestamp, NoTimestamp
	if horizon {
		base = horizonMS
	}
	f.buf = f.buf[:0]
	for _, k := range f.kept {
		latest = max(latest, k.timestamp)
		f.buf = k.append(f.buf, base)
	}
	codec := None
	if !b.Control() {
		codec = f.Compression.Target(b.Codec())
	}
	out, err := compress(append(make([]byte, 0, HeaderSize+len(f.buf)), b[:HeaderSize]...), codec, f.Level, f.buf)
	if err == nil && len(out) > math.MaxInt32 {
		err = fmt.Errorf("%w: it would have %d bytes", ErrTooLarge, len(out))
	}
	if err != nil {
		return nil, fmt.Errorf("compact batch at offset %d: %w", b.BaseOffset(), err)
	}
	n := Batch(out)
	n[posAttributes+1] = n[posAttributes+1]&^(attrCodec|attrDeleteHorizon) | byte(codec)
	if horizon {
		n[posAttributes+1] |= attrDeleteHorizon
	}
	binary.BigEndian.PutUint64(n[posBaseTimestamp:], uint64(base))
	if b.TimestampType() == CreateTime {
		binary.BigEndian.PutUint64(n[posMaxTimestamp:], uint64(latest))
	}
	binary.BigEndian.PutUint32(n[posCount:], uint32(len(f.kept)))
	n.seal()
	return n, nil
}

// append encodes the record for a batch whose timestamps count from base.
func (k *keptRecord) append(dst []byte, base int64) []byte {
	delta := k.timestamp - base
	dst = appendVarint(dst, int64(1+varintSize(delta)+varintSize(int64(k.delta))+len(k.tail)))
	dst = append(dst, byte(k.attributes))
	dst = appendVarint(dst, delta)
	dst = appendVarint(dst, int64(k.delta))
	return append(dst, k.tail...)
}

// ControlTypeOf reads what kind of control batch b is. ok is false if it holds no
// record.
func (b Batch) ControlTypeOf() (t ControlType, ok bool, err error) {
	it := b.Records(DecompressLimits{})
	defer it.Close()
	if !it.Next() {
		return 0, false, it.Err()
	}
	t, err = ParseControlType(it.Record().Key)
	return t, err == nil, err
}
