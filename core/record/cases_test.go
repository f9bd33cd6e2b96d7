package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mortisemq/mortise/core/kafka"
)

// testNow is the append time of every case, in ms.
const testNow = 1_790_000_000_000

// oneHour is the default of message.timestamp.after.max.ms, in ms.
const oneHour = 3_600_000

var testTP = kafka.TopicPartition{Topic: "t"}

func testRules() Rules {
	return Rules{
		TP: testTP, MaxBytes: 1 << 20, BeforeMaxMS: math.MaxInt64, AfterMaxMS: oneHour,
		ProduceVersion: 12, NowMS: testNow,
	}
}

// rulesCase is a batch and the rules it is checked against.
type rulesCase struct {
	name  string
	batch Batch
	rules Rules
}

var allCodecs = []Codec{None, Gzip, Snappy, LZ4, Zstd}

// sample is a batch of n records with every kind of null, empty and header.
func sample(o BuilderOptions, n int) Batch {
	b := NewBuilder(o)
	for i := range n {
		key, value := fmt.Appendf(nil, "key-%d", i), bytes.Repeat([]byte{'v', byte('0' + i%10)}, i+1)
		var headers []Header
		switch i % 4 {
		case 1:
			value = nil
			headers = []Header{{Key: "h", Value: []byte("x")}}
		case 2:
			value = []byte{}
			headers = []Header{{Key: "", Value: nil}, {Key: "e", Value: []byte{}}}
		}
		b.Append(testNow-1000+int64(i*7%5), key, value, headers)
	}
	return b.Bytes()
}

// edit changes a copy of a batch and seals it.
func edit(b Batch, change func(b Batch)) Batch {
	out := append(Batch(nil), b...)
	change(out)
	out.seal()
	return out
}

// withPayload puts a records area of the caller's choice under a header.
func withPayload(codec Codec, count int32, payload []byte) Batch {
	b := append(sample(PlainOptions(None), 1)[:HeaderSize:HeaderSize], payload...)
	b[posAttributes+1] = byte(codec)
	binary.BigEndian.PutUint32(b[posCount:], uint32(count))
	binary.BigEndian.PutUint32(b[posLastOffsetDelta:], uint32(count-1))
	b.seal()
	return b
}

// rawRecord is a record of the caller's choice with the right size before it.
func rawRecord(body ...byte) []byte {
	return append(appendVarint(nil, int64(len(body))), body...)
}

func compressed(codec Codec, payload []byte) []byte {
	out, err := compress(nil, codec, DefaultLevel, payload)
	if err != nil {
		panic(err)
	}
	return out
}

// rulesCases are the cases that a real Kafka answered (testdata/kafka44.tsv).
func rulesCases() []rulesCase {
	var cases []rulesCase
	add := func(name string, b Batch, change func(r *Rules)) {
		r := testRules()
		if change != nil {
			change(&r)
		}
		cases = append(cases, rulesCase{name, b, r})
	}
	for _, from := range allCodecs {
		plain := PlainOptions(from)
		for to := CompressProducer; to <= CompressZstd; to++ {
			add(fmt.Sprintf("%s to %s", from, to), sample(plain, 9), func(r *Rules) { r.Compression = to })
			add(fmt.Sprintf("%s to %s, append time", from, to), sample(plain, 9), func(r *Rules) {
				r.Compression, r.TimestampType = to, LogAppendTime
			})
		}
		addTimestampCases(from, add)
		addKeyCases(from, add)
		addOffsetCases(from, add)
		addMalformedRecords(from, add)
	}
	addHeaderCases(add)
	addBrokenStreams(add)
	return cases
}

type addCase func(name string, b Batch, change func(r *Rules))

func stamped(codec Codec, timestamps ...int64) Batch {
	b := NewBuilder(PlainOptions(codec))
	for _, ts := range timestamps {
		b.Append(ts, []byte("k"), []byte("v"), nil)
	}
	return b.Bytes()
}

func addTimestampCases(c Codec, add addCase) {
	appendTime := func(r *Rules) { r.TimestampType = LogAppendTime }
	setBit := func(b Batch) { b[posAttributes+1] |= attrTimestampType }
	add(c.String()+" wrong max timestamp", edit(sample(PlainOptions(c), 5), func(b Batch) {
		binary.BigEndian.PutUint64(b[posMaxTimestamp:], 12)
	}), nil)
	add(c.String()+" future", stamped(c, testNow, testNow+oneHour, testNow+oneHour+1, 1), nil)
	add(c.String()+" past", stamped(c, testNow-10, testNow-11, testNow-12, testNow), func(r *Rules) { r.BeforeMaxMS = 10 })
	add(c.String()+" no timestamp", stamped(c, -1, -1), func(r *Rules) { r.BeforeMaxMS = 10 })
	add(c.String()+" negative timestamp", stamped(c, -5, -7), nil)
	add(c.String()+" far timestamps", stamped(c, math.MaxInt64, 0, math.MinInt64), nil)
	add(c.String()+" 1970 and 2200", stamped(c, 0, 1, 7258118400000), nil)
	add(c.String()+" append time bit on a create time topic", edit(sample(PlainOptions(c), 3), setBit), nil)
	add(c.String()+" append time bit in the future", edit(stamped(c, testNow+2*oneHour), setBit), nil)
	add(c.String()+" append time bit without time", edit(stamped(c, -1), setBit), nil)
	add(c.String()+" append time bit on an append time topic", edit(sample(PlainOptions(c), 3), setBit), appendTime)
	add(c.String()+" append time bit, recompressed", edit(sample(PlainOptions(c), 3), setBit), func(r *Rules) {
		r.Compression = CompressZstd
	})
	add(c.String()+" append time bit refused, recompressed", edit(sample(PlainOptions(c), 3), setBit), func(r *Rules) {
		r.Compression, r.TimestampType = CompressGzip, LogAppendTime
	})
}

func addKeyCases(c Codec, add addCase) {
	keyless := func(n int, without ...int) Batch {
		b := NewBuilder(PlainOptions(c))
		for i := range n {
			key := []byte("k")
			for _, w := range without {
				if w == i {
					key = nil
				}
			}
			b.Append(testNow, key, nil, nil)
		}
		return b.Bytes()
	}
	compacted := func(r *Rules) { r.Compacted = true }
	add(c.String()+" compacted, all keys", keyless(10), compacted)
	add(c.String()+" compacted, record 7 without key", keyless(10, 7), compacted)
	add(c.String()+" compacted, five without keys", keyless(10, 0, 2, 4, 6, 8), compacted)
	add(c.String()+" compacted, no key and bad time", stamped(c, testNow+2*oneHour), func(r *Rules) {
		r.Compacted = true
	})
	add(c.String()+" keyless", keyless(3, 1), nil)
	add(c.String()+" record limit", sample(PlainOptions(c), 30), func(r *Rules) { r.MaxRecordBytes = 40 })
}

func addOffsetCases(c Codec, add addCase) {
	at := func(deltas ...int32) Batch {
		b := NewBuilder(PlainOptions(c))
		for _, d := range deltas {
			b.AppendAt(d, testNow-int64(d), []byte("k"), []byte("v"), nil)
		}
		return edit(b.Bytes(), func(b Batch) {
			binary.BigEndian.PutUint32(b[posLastOffsetDelta:], uint32(len(deltas)-1))
		})
	}
	add(c.String()+" inner offsets all 0", at(0, 0, 0), nil)
	add(c.String()+" inner offsets with a gap", at(0, 2, 3), nil)
	add(c.String()+" inner offsets backwards", at(2, 1, 0), func(r *Rules) { r.TimestampType = LogAppendTime })
	for to := CompressNone; to <= CompressZstd; to++ {
		add(fmt.Sprintf("%s inner offsets all 0, to %s", c, to), at(0, 0, 0), func(r *Rules) { r.Compression = to })
	}
	count := func(n uint32) func(Batch) {
		return func(b Batch) { binary.BigEndian.PutUint32(b[posCount:], n) }
	}
	last := func(n uint32) func(Batch) {
		return func(b Batch) { binary.BigEndian.PutUint32(b[posLastOffsetDelta:], n) }
	}
	both := func(n uint32) func(Batch) {
		return func(b Batch) { count(n)(b); last(n - 1)(b) }
	}
	for _, n := range []uint32{0, 3, 5, 7, math.MaxUint32, math.MaxInt32, 1 << 31} {
		name := fmt.Sprintf("%s five records, %d ", c, int32(n))
		add(name+"in count", edit(sample(PlainOptions(c), 5), count(n)), nil)
		add(name+"in last offset", edit(sample(PlainOptions(c), 5), last(n)), nil)
		add(name+"in both", edit(sample(PlainOptions(c), 5), both(n)), nil)
	}
}

func addMalformedRecords(c Codec, add addCase) {
	records := map[string][]byte{
		"nothing":               nil,
		"record size -1":        {1, 0, 0, 0},
		"record size 0":         {0},
		"record size cut":       {0x80},
		"record size overlong":  {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1},
		"record size too large": {40, 0, 0, 0, 2, 'k', 2, 'v', 0},
		"good":                  rawRecord(0, 0, 0, 2, 'k', 2, 'v', 0),
		"record attributes":     rawRecord(0x7f, 0, 0, 2, 'k', 2, 'v', 0),
		"key size -2":           rawRecord(0, 0, 0, 3, 2, 'v', 0),
		"value size -3":         rawRecord(0, 0, 0, 2, 'k', 5, 0),
		"key past the end":      rawRecord(0, 0, 0, 60, 'k', 2, 'v', 0),
		"value past the end":    rawRecord(0, 0, 0, 2, 'k', 60, 'v', 0),
		"key of 2 GiB":          rawRecord(0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 'k', 2, 'v', 0),
		"headers -1":            rawRecord(0, 0, 0, 2, 'k', 2, 'v', 1),
		"headers 1000":          rawRecord(0, 0, 0, 2, 'k', 2, 'v', 0xd0, 0x0f),
		"header name -1":        rawRecord(0, 0, 0, 2, 'k', 2, 'v', 2, 1, 2, 'x'),
		"header name past end":  rawRecord(0, 0, 0, 2, 'k', 2, 'v', 2, 60, 'n', 2, 'x'),
		"header value past end": rawRecord(0, 0, 0, 2, 'k', 2, 'v', 2, 2, 'n', 60, 'x'),
		"null header value":     rawRecord(0, 0, 0, 2, 'k', 2, 'v', 2, 2, 'n', 1),
		"timestamp cut":         rawRecord(0, 0x80),
		"no headers field":      rawRecord(0, 0, 0, 2, 'k', 2, 'v'),
		"two records for one":   append(rawRecord(0, 0, 0, 1, 1, 0), rawRecord(0, 0, 2, 1, 1, 0)...),
		"bytes behind":          append(rawRecord(0, 0, 0, 1, 1, 0), 0xff),
	}
	if c == None { // Kafka does not check the size of records that it skips over
		records["body longer than its fields"] = rawRecord(0, 0, 0, 2, 'k', 2, 'v', 0, 0)
	}
	for name, p := range records {
		add(c.String()+" record: "+name, withPayload(c, 1, compressed(c, p)), nil)
	}
}

func addHeaderCases(add addCase) {
	idempotent := BuilderOptions{ProducerID: 9, ProducerEpoch: 1, BaseSequence: 4}
	add("idempotent", sample(idempotent, 3), nil)
	add("idempotent, recompressed", sample(idempotent, 3), func(r *Rules) { r.Compression = CompressLZ4 })
	idempotent.BaseSequence = -1
	add("producer without sequence", sample(idempotent, 3), nil)
	idempotent.ProducerID = -7
	add("negative producer", sample(idempotent, 3), nil)
	idempotent.Transactional, idempotent.ProducerID, idempotent.BaseSequence = true, 3, 2
	add("transactional", sample(idempotent, 3), nil)
	add("transactional, recompressed", sample(idempotent, 3), func(r *Rules) { r.Compression = CompressSnappy })
	control := PlainOptions(None)
	control.Control = true
	add("control batch", sample(control, 1), nil)
	add("control batch and compression", sample(control, 1), func(r *Rules) { r.Compression = CompressGzip })
	for bit := 6; bit < 16; bit++ {
		set := func(b Batch) {
			binary.BigEndian.PutUint16(b[posAttributes:], uint16(b.Attributes())|1<<bit)
		}
		add(fmt.Sprintf("attribute bit %d", bit), edit(sample(PlainOptions(None), 2), set), nil)
		add(fmt.Sprintf("attribute bit %d, append time", bit), edit(sample(PlainOptions(None), 2), set), func(r *Rules) {
			r.TimestampType = LogAppendTime
		})
	}
	for c := range Codec(3) {
		add(fmt.Sprintf("codec %d", 5+c), withPayload(5+c, 1, rawRecord(0, 0, 0, 1, 1, 0)), nil)
	}
	many := NewBuilder(PlainOptions(None))
	many.Append(testNow, []byte("k"), nil, make([]Header, 500))
	add("500 headers", many.Bytes(), nil)
}

func addBrokenStreams(add addCase) {
	good := rawRecord(0, 0, 0, 2, 'k', 2, 'v', 0)
	raw := append([]byte{byte(len(good)), byte(len(good)-1) << 2}, good...)
	add("snappy raw block", withPayload(Snappy, 1, raw), nil)
	add("snappy raw block, recompressed", withPayload(Snappy, 1, raw), func(r *Rules) { r.Compression = CompressZstd })
	xerial := compressed(Snappy, good)
	add("snappy streams joined", withPayload(Snappy, 1, append(bytes.Clone(xerial), xerial[:xerialHeader]...)), nil)
	chunk := func(size int32, block ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(bytes.Clone(xerial), uint32(size)), block...)
	}
	add("snappy chunk too long", withPayload(Snappy, 1, chunk(100, 0)), nil)
	add("snappy chunk negative", withPayload(Snappy, 1, chunk(-1, 0)), nil)
	add("snappy header cut", withPayload(Snappy, 1, xerial[:12]), nil)
	for _, c := range allCodecs[1:] {
		whole := compressed(c, good)
		add(c.String()+" empty stream", withPayload(c, 1, nil), nil)
		add(c.String()+" not a stream", withPayload(c, 1, []byte("this is no compressed data at all")), nil)
		add(c.String()+" cut in half", withPayload(c, 1, whole[:len(whole)/2]), nil)
		add(c.String()+" first bytes broken", withPayload(c, 1, append([]byte{0xff, 0xff}, whole[2:]...)), nil)
	}
}
