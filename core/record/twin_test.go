package record

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/seeded"
)

// plain is a record without any encoding, for comparisons.
type plain struct {
	delta      int32
	timestamp  int64
	key, value []byte
	headers    []Header
}

func (p plain) String() string {
	return fmt.Sprintf("{%d %d %s %s %s}", p.delta, p.timestamp, show(p.key), show(p.value), showHeaders(p.headers))
}

func show(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

func showHeaders(headers []Header) string {
	s := ""
	for _, h := range headers {
		s += fmt.Sprintf("%q=%s;", h.Key, show(h.Value))
	}
	return s
}

func drawBytes(t *rapid.T, label string) []byte {
	switch rapid.IntRange(0, 3).Draw(t, label+" kind") {
	case 0:
		return nil
	case 1:
		return []byte{}
	}
	return rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, label)
}

func drawRecords(t *rapid.T) []plain {
	n := rapid.IntRange(1, 12).Draw(t, "records")
	base := rapid.Int64Range(0, testNow).Draw(t, "base time")
	var records []plain
	for i := range n {
		p := plain{delta: int32(i), timestamp: base + rapid.Int64Range(-1<<40, 1<<40).Draw(t, "time")}
		p.timestamp = max(p.timestamp, 0)
		p.key, p.value = drawBytes(t, "key"), drawBytes(t, "value")
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			p.headers = append(p.headers, Header{rapid.StringN(0, 5, -1).Draw(t, "name"), drawBytes(t, "header")})
		}
		records = append(records, p)
	}
	return records
}

func build(o BuilderOptions, records []plain) Batch {
	b := NewBuilder(o)
	for _, p := range records {
		b.AppendAt(p.delta, p.timestamp, p.key, p.value, p.headers)
	}
	return b.Bytes()
}

// ours decodes with Iterator.
func ours(b Batch) ([]plain, error) {
	it := b.Records(DecompressLimits{})
	defer it.Close()
	var out []plain
	for it.Next() {
		r := it.Record()
		p := plain{int32(r.Offset - b.BaseOffset()), r.Timestamp, clone(r.Key), clone(r.Value), nil}
		for _, h := range r.Headers() {
			p.headers = append(p.headers, Header{h.Key, clone(h.Value)})
		}
		out = append(out, p)
	}
	return out, it.Err()
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// theirs decodes with kmsg and kgo's decompressor, the plain way.
func theirs(b Batch) ([]plain, error) {
	var k kmsg.RecordBatch
	if err := k.ReadFrom(b); err != nil {
		return nil, err
	}
	if want := crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)); uint32(k.CRC) != want {
		return nil, fmt.Errorf("crc %x, want %x", uint32(k.CRC), want)
	}
	raw, err := kgo.DefaultDecompressor().Decompress(k.Records, kgo.CompressionCodecType(k.Attributes&7))
	if err != nil {
		return nil, err
	}
	var out []plain
	for range k.NumRecords {
		size, n := kmsgVarint(raw)
		var r kmsg.Record
		if err := r.ReadFrom(raw[:n+int(size)]); err != nil {
			return nil, err
		}
		raw = raw[n+int(size):]
		p := plain{r.OffsetDelta, k.FirstTimestamp + r.TimestampDelta64, r.Key, r.Value, nil}
		for _, h := range r.Headers {
			p.headers = append(p.headers, Header(h))
		}
		out = append(out, p)
	}
	return out, nil
}

func kmsgVarint(p []byte) (int32, int) {
	var u uint32
	for i, c := range p {
		u |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return int32(u>>1) ^ -int32(u&1), i + 1
		}
	}
	return 0, 0
}

// kmsgBatch encodes with kmsg and kgo's compressor.
func kmsgBatch(t *rapid.T, codec Codec, records []plain) Batch {
	var raw []byte
	k := kmsg.RecordBatch{Magic: 2, Attributes: int16(codec), ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		PartitionLeaderEpoch: -1, FirstTimestamp: records[0].timestamp, NumRecords: int32(len(records))}
	for _, p := range records {
		r := kmsg.Record{TimestampDelta64: p.timestamp - k.FirstTimestamp, OffsetDelta: p.delta, Key: p.key, Value: p.value}
		for _, h := range p.headers {
			r.Headers = append(r.Headers, kmsg.Header(h))
		}
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		raw = r.AppendTo(raw)
		k.LastOffsetDelta = p.delta
		k.MaxTimestamp = max(k.MaxTimestamp, p.timestamp)
	}
	k.Records = raw
	if codec != None {
		compressor, err := kgo.DefaultCompressor([]kgo.CompressionCodec{{}, kgo.GzipCompression(),
			kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}[codec])
		if err != nil {
			t.Fatal(err)
		}
		k.Records, _ = compressor.Compress(new(bytes.Buffer), raw)
	}
	b := Batch(k.AppendTo(nil))
	b.seal()
	return b
}

func sameRecords(t *rapid.T, what string, got, want []plain) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s:\n%v\nwant\n%v", what, got, want)
	}
}

// TestRoundTrip writes with Mortise and reads with Mortise and kmsg; and writes
// with kmsg and kgo's compressors and reads with Mortise.
func TestRoundTrip(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		records := drawRecords(t)
		codec := rapid.SampledFrom(allCodecs).Draw(t, "codec")
		o := PlainOptions(codec)
		o.Level = rapid.IntRange(-1, 12).Draw(t, "level")
		b := build(o, records)
		if _, rest, err := Next(b); err != nil || len(rest) > 0 {
			t.Fatalf("Next: %d bytes behind, %v", len(rest), err)
		}
		got, err := theirs(b)
		if err != nil {
			t.Fatal("kmsg reading:", err)
		}
		sameRecords(t, "kmsg reading", got, records)
		if got, err = ours(b); err != nil {
			t.Fatal("reading:", err)
		}
		sameRecords(t, "reading", got, records)

		k := kmsgBatch(t, codec, records)
		if got, err = ours(k); err != nil {
			t.Fatal("reading kmsg's:", err)
		}
		sameRecords(t, "reading kmsg's", got, records)
		if codec == None && !bytes.Equal(k, b) {
			t.Fatalf("kmsg's bytes\n%x\nours\n%x", []byte(k), []byte(b))
		}
	})
}

// TestValidateKeepsRecords checks that whatever Validate changes, the records
// stay, with offsets 0 to n-1.
func TestValidateKeepsRecords(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		records := drawRecords(t)
		codec := rapid.SampledFrom(allCodecs).Draw(t, "codec")
		b := kmsgBatch(t, codec, records)
		r := testRules()
		r.AfterMaxMS = 1 << 42
		r.Compression = CompressionType(rapid.IntRange(0, 5).Draw(t, "compression"))
		r.Level = rapid.IntRange(-1, 12).Draw(t, "level")
		r.TimestampType = TimestampType(rapid.IntRange(0, 1).Draw(t, "timestamps"))
		v, err := Validate(b, &r)
		if err != nil {
			t.Fatal(err)
		}
		if want := r.Compression.Target(codec); v.Batch.Codec() != want {
			t.Fatalf("codec %s, want %s", v.Batch.Codec(), want)
		}
		v.Batch.Assign(1000, 3)
		if v.Batch.BaseOffset() != 1000 || v.Batch.LastOffset() != 1000+kafka.Offset(len(records)-1) {
			t.Fatalf("offsets %d to %d", v.Batch.BaseOffset(), v.Batch.LastOffset())
		}
		got, err := theirs(v.Batch)
		if err != nil {
			t.Fatal(err)
		}
		sameRecords(t, "stored", got, records)
	})
}

// TestConsumerReads gives batches to the code that kgo's consumer runs.
func TestConsumerReads(t *testing.T) {
	for _, codec := range allCodecs {
		b := sample(PlainOptions(codec), 40)
		b.Assign(500, 2)
		fp, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t"},
			&kmsg.FetchResponseTopicPartition{RecordBatches: b, HighWatermark: 540}, kgo.DefaultDecompressor(), nil)
		if fp.Err != nil || len(fp.Records) != 40 || next != 540 {
			t.Errorf("%s: %d records, next offset %d, %v", codec, len(fp.Records), next, fp.Err)
		}
	}
}
