package record

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// fuzzLimits keep a fuzzed batch small.
var fuzzLimits = DecompressLimits{MaxBytes: 1 << 20, MaxRatio: 100}

func addSeeds(f *testing.F) {
	for _, c := range rulesCases() {
		if len(c.batch) < 1<<10 && c.rules.Compression == CompressProducer {
			f.Add([]byte(c.batch))
		}
	}
	f.Add([]byte(EndTxnMarker{Type: ControlAbort, ProducerID: 1}.Batch()))
}

// FuzzNext cuts a stream into batches: they must be exactly its bytes.
func FuzzNext(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		rest, joined := data, []byte(nil)
		for {
			b, after, err := Next(rest)
			if err != nil {
				if !errors.Is(err, ErrShort) && !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				if len(after) != len(rest) {
					t.Fatal("bytes went missing with an error")
				}
				break
			}
			if n, err := Size(b); err != nil || n != len(b) || len(b) < HeaderSize {
				t.Fatalf("batch of %d bytes has size %d, %v", len(b), n, err)
			}
			joined, rest = append(joined, b...), after
		}
		if !bytes.Equal(append(joined, rest...), data) {
			t.Fatal("batches and rest are not the input")
		}
		if b, err := Only(data, 12); err == nil {
			if first, _, err := Next(data); err != nil || !bytes.Equal(first, b) {
				t.Fatal("Only and Next differ")
			}
		}
	})
}

// fuzzBatch makes one batch with a right size and CRC out of any bytes.
func fuzzBatch(data []byte) (Batch, bool) {
	if len(data) < HeaderSize {
		return nil, false
	}
	b := append(Batch(nil), data...)
	b[posMagic] = Magic
	b.seal()
	return b, true
}

// FuzzIterate walks any batch, and builds it again: the same records come out.
func FuzzIterate(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		b, ok := fuzzBatch(data)
		if !ok {
			return
		}
		it := b.Records(fuzzLimits)
		defer it.Close()
		again := NewBuilder(PlainOptions(None))
		var deltas, want []string
		for it.Next() {
			r := it.Record()
			deltas = append(deltas, fmt.Sprint(r.Offset-b.BaseOffset()))
			headers := r.Headers()
			if len(headers) != r.HeaderCount() {
				t.Fatalf("%d headers, not %d", len(headers), r.HeaderCount())
			}
			want = append(want, plain{int32(len(want)), r.Timestamp, r.Key, r.Value, headers}.String())
			again.Append(r.Timestamp, r.Key, r.Value, headers)
		}
		if err := it.Err(); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
		if len(want) == 0 {
			return
		}
		got, err := ours(again.Bytes())
		if err != nil || len(got) != len(deltas) {
			t.Fatalf("%d records built of %d: %v", len(got), len(deltas), err)
		}
		for i, p := range got {
			if p.String() != want[i] {
				t.Fatalf("record %d is %s, was %s", i, p, want[i])
			}
		}
		if _, _, err := b.EndTxnMarker(); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	})
}

// FuzzValidate: what is refused is unchanged; what is accepted is a batch that
// every reader can read, and that Validate accepts again without changing it.
func FuzzValidate(f *testing.F) {
	for _, c := range rulesCases() {
		if len(c.batch) < 1<<10 {
			f.Add([]byte(c.batch), uint8(c.rules.Compression), c.rules.Compacted, c.rules.TimestampType == LogAppendTime)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, compression uint8, compacted, appendTime bool) {
		b, ok := fuzzBatch(data)
		if !ok {
			return
		}
		r := testRules()
		r.Compression, r.Compacted, r.Limits = CompressionType(compression%6), compacted, fuzzLimits
		if appendTime {
			r.TimestampType = LogAppendTime
		}
		before := bytes.Clone(b)
		v, err := Validate(b, &r)
		if err != nil {
			var refused *kafka.Error
			var invalid *InvalidError
			if !errors.As(err, &refused) && !errors.As(err, &invalid) {
				t.Fatal(err)
			}
			if !bytes.Equal(before, b) {
				t.Fatal("a refused batch was changed")
			}
			return
		}
		if err := v.Batch.CheckCRC(); err != nil {
			t.Fatal(err)
		}
		read := theirs
		if v.Batch.Codec() == Snappy {
			read = ours // kgo has no joined xerial streams, Java has
		}
		records, err := read(v.Batch)
		if err != nil || len(records) != int(v.Batch.Count()) {
			t.Fatalf("%d records of %d can be read: %v", len(records), v.Batch.Count(), err)
		}
		if appendTime || Batch(before).TimestampType() == LogAppendTime {
			return // producers must not send that; Kafka takes it and trusts the header's time
		}
		again, err := Validate(v.Batch, &r)
		if err != nil || again.Reason != Unchanged || again.MaxTimestamp != v.MaxTimestamp {
			t.Fatalf("second time: %s, %v", again.Reason, err)
		}
	})
}

// FuzzXerial decodes any snappy stream within its limit, as fuzzed bytes and as a
// right stream of them.
func FuzzXerial(f *testing.F) {
	f.Add(appendXerial(nil, []byte("some text, some text")))
	f.Add(append(appendXerial(nil, nil), 0, 0, 0, 9, 5, 16, 'a', 'b'))
	f.Add(append(appendXerial(nil, nil), 0xff, 0xff, 0xff, 0xff))
	f.Add([]byte{5, 16, 'a', 'b', 'c', 'd', 'e'})
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 18
		out, err := decompress(nil, Snappy, data, limit)
		if len(out) > limit || cap(out) > 4*limit {
			t.Fatalf("%d bytes, %d of memory", len(out), cap(out))
		}
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
		back, err := decompress(nil, Snappy, appendXerial(nil, data), max(len(data), 1))
		if err != nil || !bytes.Equal(back, data) {
			t.Fatalf("%d bytes came back of %d: %v", len(back), len(data), err)
		}
	})
}
