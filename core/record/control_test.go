package record

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

// TestMarkerBytes holds the marker to KIP-98's layout: version, type; version,
// coordinator epoch.
func TestMarkerBytes(t *testing.T) {
	b := EndTxnMarker{Type: ControlCommit, ProducerID: 1, CoordinatorEpoch: 258, TimestampMS: 5}.Batch()
	if !b.Control() || !b.Transactional() || b.BaseSequence() != NoSequence || b.Count() != 1 {
		t.Errorf("attributes %x, sequence %d, count %d", b.Attributes(), b.BaseSequence(), b.Count())
	}
	want := "20" + "00" + "00" + "00" + "08" + "00000001" + "0c" + "000000000102" + "00"
	if got := hex.EncodeToString(b.payload()); got != want {
		t.Errorf("record %s, want %s", got, want)
	}
}

func TestMarkerOfOtherBatches(t *testing.T) {
	if _, ok, err := sample(PlainOptions(None), 1).EndTxnMarker(); ok || err != nil {
		t.Errorf("a batch of data: %t, %v", ok, err)
	}
	control := func(key, value []byte) Batch {
		o := PlainOptions(None)
		o.Control = true
		b := NewBuilder(o)
		b.Append(1, key, value, nil)
		return b.Bytes()
	}
	if _, ok, err := control([]byte{0, 0, 0, 2}, nil).EndTxnMarker(); ok || err != nil {
		t.Errorf("a leader change: %t, %v", ok, err)
	}
	for _, b := range []Batch{control(nil, nil), control([]byte{0, 0, 0}, nil), control([]byte{0, 0, 0, 1}, make([]byte, 5))} {
		if _, ok, err := b.EndTxnMarker(); ok || !errors.Is(err, ErrCorrupt) {
			t.Errorf("a cut marker: %t, %v", ok, err)
		}
	}
	if _, ok, err := EmptyBatch(EndTxnMarker{}.Batch()).EndTxnMarker(); ok || err != nil {
		t.Errorf("a marker that compaction emptied: %t, %v", ok, err)
	}
	if s := ControlAbort.String() + ControlCommit.String() + ControlType(7).String(); s != "ABORTCOMMITUNKNOWN(7)" {
		t.Error(s)
	}
}

// TestEmptyBatch: what compaction leaves of a batch keeps its offsets and its
// producer.
func TestEmptyBatch(t *testing.T) {
	full := sample(BuilderOptions{Codec: Zstd, ProducerID: 4, ProducerEpoch: 1, BaseSequence: 10}, 5)
	full.Assign(100, 3)
	before := bytes.Clone(full)
	b, rest, err := Next(EmptyBatch(full))
	if err != nil || len(rest) > 0 || b.CheckCRC() != nil {
		t.Fatal(err, b.CheckCRC())
	}
	if !bytes.Equal(before, full) {
		t.Error("the full batch was changed")
	}
	if b.LastOffset() != 104 || b.LastSequence() != 14 || b.Count() != 0 || b.LeaderEpoch() != 3 || b.Codec() != None {
		t.Errorf("last offset %d, last sequence %d, count %d", b.LastOffset(), b.LastSequence(), b.Count())
	}
	it := b.Records(DecompressLimits{})
	if it.Next() || it.Err() != nil {
		t.Errorf("a record in an empty batch, or %v", it.Err())
	}
	it.Close()
	if it.Next() || it.Err() != nil {
		t.Error("an iterator works after Close")
	}
}
