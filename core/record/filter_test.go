package record

import (
	"bytes"
	"fmt"
	"testing"
)

// filterInput is a batch of six records, the odd ones tombstones, whose offsets have a
// gap as an earlier compaction leaves it.
func filterInput(codec Codec, stamp TimestampType) Batch {
	o := BuilderOptions{Codec: codec, TimestampType: stamp, LogAppendTimeMS: 7777, ProducerID: 5, ProducerEpoch: 2, BaseSequence: 40, BaseOffset: 1000, LeaderEpoch: 9}
	b := NewBuilder(o)
	for i := range int32(6) {
		value := []byte(fmt.Sprint("value", i))
		if i%2 == 1 {
			value = nil
		}
		b.AppendAt(3*i, 5000-int64(i)*10, []byte{byte('a' + i)}, value, []Header{{Key: "h", Value: []byte{byte(i)}}})
	}
	return b.Bytes()
}

// TestFilterKeepsWhatIsKept compares what is left with what was there: otherwise
// compaction would change a record that it should only keep.
func TestFilterKeepsWhatIsKept(t *testing.T) {
	for codec := None; codec < codecCount; codec++ {
		for _, stamp := range []TimestampType{CreateTime, LogAppendTime} {
			for mask := range 64 {
				if err := filterOnce(filterInput(codec, stamp), mask); err != nil {
					t.Errorf("%s, %s, records %06b: %v", codec, stamp, mask, err)
				}
			}
		}
	}
}

// filterOnce keeps the records of mask, twice: the second time the batch has its
// horizon, and nothing may change any more.
func filterOnce(in Batch, mask int) error {
	f := Filter{Compression: CompressProducer}
	keep := func(r *Record) bool { return mask&(1<<(r.Key[0]-'a')) != 0 }
	out, err := f.Apply(in, 99_000, false, keep)
	if err != nil {
		return err
	}
	if mask == 0 {
		if out.Batch != nil || out.Kept != 0 || out.Read != 6 {
			return fmt.Errorf("nothing kept gave %d bytes, %+v", len(out.Batch), out)
		}
		return nil
	}
	b := out.Batch
	if err := b.CheckCRC(); err != nil {
		return err
	}
	tombstones := mask&0b101010 != 0
	if horizon := b.DeleteHorizon(); tombstones != (horizon == 99_000) || !tombstones && horizon != NoTimestamp {
		return fmt.Errorf("delete horizon %d", horizon)
	}
	if mask == 63 && !tombstones && &b[0] != &in[0] {
		return fmt.Errorf("a batch that stays whole was copied")
	}
	if b.BaseOffset() != in.BaseOffset() || b.LastOffset() != in.LastOffset() || b.LastSequence() != in.LastSequence() || b.BaseSequence() != in.BaseSequence() ||
		b.ProducerID() != in.ProducerID() || b.ProducerEpoch() != in.ProducerEpoch() || b.LeaderEpoch() != in.LeaderEpoch() || b.Codec() != in.Codec() || b.TimestampType() != in.TimestampType() {
		return fmt.Errorf("header changed from %x to %x", in[:HeaderSize], b[:HeaderSize])
	}
	latest := NoTimestamp
	want, got := contents(in, keep), contents(b, func(r *Record) bool { latest = max(latest, r.Timestamp); return true })
	if want != got {
		return fmt.Errorf("kept\n%s, want\n%s", got, want)
	}
	if b.MaxTimestamp() != latest {
		return fmt.Errorf("largest timestamp %d, the records have %d", b.MaxTimestamp(), latest)
	}
	again, err := f.Apply(b, 123_456, false, func(*Record) bool { return true })
	if err != nil || !bytes.Equal(again.Batch, b) {
		return fmt.Errorf("the second pass changed it: %v", err)
	}
	return nil
}

// contents prints the records that keep names.
func contents(b Batch, keep func(*Record) bool) string {
	var out bytes.Buffer
	it := b.Records(DecompressLimits{})
	defer it.Close()
	for it.Next() {
		if r := it.Record(); keep(r) {
			fmt.Fprintf(&out, "%d %d %d %q %q %v %v\n", r.Offset, r.Timestamp, r.Sequence, r.Key, r.Value, r.Value == nil, r.Headers())
		}
	}
	return out.String()
}

// TestFilterUsesTheTopicsCodec: what is written again is written as the topic wants it,
// but a control batch is never compressed.
func TestFilterUsesTheTopicsCodec(t *testing.T) {
	f := Filter{Compression: CompressZstd}
	first := true
	out, err := f.Apply(filterInput(Gzip, CreateTime), 1, false, func(*Record) bool { was := first; first = false; return !was })
	if err != nil || out.Batch.Codec() != Zstd {
		t.Fatalf("codec %s, %v", out.Batch.Codec(), err)
	}
	marker := EndTxnMarker{Type: ControlAbort, ProducerID: 5, TimestampMS: 3}.Batch()
	out, err = f.Apply(marker, 50, true, func(*Record) bool { return true })
	if err != nil || out.Batch.Codec() != None || out.Batch.DeleteHorizon() != 50 {
		t.Fatalf("marker: codec %s, horizon %d, %v", out.Batch.Codec(), out.Batch.DeleteHorizon(), err)
	}
	if kind, ok, err := out.Batch.ControlTypeOf(); err != nil || !ok || kind != ControlAbort {
		t.Fatalf("marker: %v %v %v", kind, ok, err)
	}
	if _, ok, err := EmptyBatch(marker).ControlTypeOf(); ok || err != nil {
		t.Fatalf("an emptied marker says %v, %v", ok, err)
	}
}
