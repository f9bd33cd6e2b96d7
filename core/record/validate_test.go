package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// filled is an uncompressed batch of about total bytes with records of size.
func filled(o BuilderOptions, total, size int) Batch {
	b := NewBuilder(o)
	for b.Size()+size < total {
		b.Append(testNow, []byte("key"), bytes.Repeat([]byte("v"), size-20), nil)
	}
	return b.Bytes()
}

func TestValidateAllocatesNothing(t *testing.T) {
	for _, size := range []int{100, 1024} {
		b := filled(PlainOptions(None), 64<<10, size)
		r := testRules()
		allocs := testing.AllocsPerRun(100, func() {
			v, err := Validate(b, &r)
			if err != nil || v.Reason != Unchanged || &v.Batch[0] != &b[0] {
				t.Fatal(v.Reason, err)
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations with records of %d bytes", allocs, size)
		}
		r.TimestampType = LogAppendTime
		allocs = testing.AllocsPerRun(100, func() {
			r.NowMS++
			b.stamp(CreateTime, 0)
			v, err := Validate(b, &r)
			if err != nil || v.Batch.MaxTimestamp() != r.NowMS || v.LogAppendTimeMS != r.NowMS {
				t.Fatal(v.Reason, err)
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations for the append time", allocs)
		}
	}
}

func refusedWith(t *testing.T, name string, err error, code kafka.ErrorCode) {
	t.Helper()
	var refused *kafka.Error
	var invalid *InvalidError
	switch {
	case errors.As(err, &refused) && refused.Code == code && refused.Message != "":
	case errors.As(err, &invalid) && invalid.Code == code && len(invalid.Records) > 0:
	default:
		t.Errorf("%s: %v, want %s", name, err, code)
	}
}

// TestOrder gives batches with several faults; the first in Kafka's order is
// answered.
func TestOrder(t *testing.T) {
	all := withPayload(Zstd, 1, []byte("no stream")) // and no count, see below
	binary.BigEndian.PutUint32(all[posCount:], 7)
	all.seal()
	all.Assign(5, 0)
	all[len(all)-1] ^= 1
	r := testRules()
	r.ProduceVersion, r.MaxBytes = 6, 10
	steps := []struct {
		name string
		want kafka.ErrorCode
		fix  func()
	}{
		{"zstd before v7", kafka.ErrUnsupportedCompressionType, func() { r.ProduceVersion = 7 }},
		{"base offset 5", kafka.ErrInvalidRecord, func() { all.Assign(0, 0) }},
		{"too large", kafka.ErrMessageTooLarge, func() { r.MaxBytes = 1000 }},
		{"CRC", kafka.ErrCorruptMessage, func() { all[posAttributes+1] = 5; all.seal() }},
		{"codec 5", kafka.ErrUnknownServerError, func() { all[posAttributes+1] = byte(Zstd); all.seal() }},
		{"count", kafka.ErrInvalidRecord, func() { binary.BigEndian.PutUint32(all[posCount:], 1); all.seal() }},
		{"no stream", kafka.ErrUnknownServerError, func() {
			all = withPayload(Zstd, 1, compressed(Zstd, rawRecord(0, 0, 0, 1, 1, 0)))
			r.Compacted = true
		}},
		{"no key", kafka.ErrInvalidRecord, func() { r.Compacted = false; r.BeforeMaxMS = 5; r.NowMS = testNow + 5000 }},
		{"old", kafka.ErrInvalidTimestamp, func() { r.NowMS = testNow - 1000; r.SegmentBytes = 30 }},
		{"segment", kafka.ErrRecordListTooLarge, func() { r.SegmentBytes = 1 << 20 }},
	}
	for _, s := range steps {
		before := bytes.Clone(all)
		_, err := Validate(all, &r)
		refusedWith(t, s.name, err, s.want)
		if !bytes.Equal(before, all) {
			t.Errorf("%s: the batch was changed", s.name)
		}
		s.fix()
	}
	if _, err := Validate(all, &r); err != nil {
		t.Error(err)
	}
}

func TestSizes(t *testing.T) {
	b := filled(PlainOptions(None), 5000, 100)
	r := testRules()
	r.MaxBytes = len(b)
	if _, err := Validate(b, &r); err != nil {
		t.Error("at the limit:", err)
	}
	r.MaxBytes--
	_, err := Validate(b, &r)
	refusedWith(t, "one byte over", err, kafka.ErrMessageTooLarge)

	small := build(PlainOptions(Gzip), []plain{{0, testNow, nil, make([]byte, 5000), nil}})
	r.MaxBytes, r.Compression = 4000, CompressNone
	_, err = Validate(small, &r)
	refusedWith(t, "over the limit when uncompressed", err, kafka.ErrMessageTooLarge)

	bomb := build(PlainOptions(Zstd), []plain{{0, testNow, nil, make([]byte, 32<<20), nil}})
	r = testRules()
	_, err = Validate(bomb, &r)
	refusedWith(t, "a bomb", err, kafka.ErrMessageTooLarge)
	r.Limits = DecompressLimits{MaxBytes: 40 << 20, MaxRatio: 1 << 20}
	if _, err = Validate(bomb, &r); err != nil {
		t.Error("a bomb that is allowed:", err)
	}
}

// TestNullsAndEmpties is PROD-06: four combinations of null and empty.
func TestNullsAndEmpties(t *testing.T) {
	for _, codec := range allCodecs {
		var records []plain
		for i, kv := range [][2][]byte{{nil, nil}, {nil, {}}, {{}, nil}, {{}, {}}} {
			records = append(records, plain{int32(i), testNow, kv[0], kv[1], nil})
		}
		b := build(PlainOptions(codec), records)
		r := testRules()
		r.Compression = CompressLZ4
		v, err := Validate(b, &r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ours(v.Batch)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(records) {
			t.Errorf("%s: %v, %v", codec, got, err)
		}
	}
}

// TestManyHeaders is PROD-08: 50,000 headers pass, and a lie about their number
// costs nothing.
func TestManyHeaders(t *testing.T) {
	headers := make([]Header, 50_000)
	b := build(PlainOptions(Zstd), []plain{{0, testNow, nil, nil, headers}})
	r := testRules()
	if _, err := Validate(b, &r); err != nil {
		t.Error(err)
	}
	got, err := ours(b)
	if err != nil || len(got[0].headers) != len(headers) {
		t.Errorf("%d headers, %v", len(got[0].headers), err)
	}
}

// TestManyBadRecords bounds the answer to a batch of which everything is bad.
func TestManyBadRecords(t *testing.T) {
	var records []plain
	for i := range int32(maxRecordErrors + 500) {
		records = append(records, plain{i, testNow, nil, nil, nil})
	}
	r := testRules()
	r.Compacted = true
	_, err := Validate(build(PlainOptions(None), records), &r)
	var refused *InvalidError
	if !errors.As(err, &refused) || len(refused.Records) != maxRecordErrors {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("due to %d record errors", len(records)); !bytes.Contains([]byte(refused.Message), []byte(want)) {
		t.Error(refused.Message)
	}
}

func TestCoordinatorsWriteControlBatches(t *testing.T) {
	m := EndTxnMarker{Type: ControlCommit, ProducerID: 5, ProducerEpoch: 2, CoordinatorEpoch: 9, TimestampMS: testNow}
	r := testRules()
	r.Compression = CompressGzip
	_, err := Validate(m.Batch(), &r)
	refusedWith(t, "from a client", err, kafka.ErrInvalidRecord)
	r.AllowControl = true
	v, err := Validate(m.Batch(), &r)
	if err != nil || v.Rewritten || v.Batch.Codec() != None {
		t.Fatal(v.Reason, err)
	}
	got, ok, err := v.Batch.EndTxnMarker()
	if err != nil || !ok || got != m {
		t.Errorf("marker %+v, %t, %v", got, ok, err)
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, size := range []int{1024, 100} {
		for _, codec := range allCodecs {
			b.Run(fmt.Sprintf("64KiB/%dB/%s", size, codec), func(b *testing.B) {
				batch := filled(PlainOptions(None), 64<<10, size)
				if codec != None {
					batch = withPayload(codec, batch.Count(), compressed(codec, batch.payload()))
				}
				r := testRules()
				r.Limits.MaxRatio = 10_000
				b.SetBytes(64 << 10)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Validate(batch, &r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
