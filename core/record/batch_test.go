package record

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestAccessors compares every accessor with kmsg on a header whose fields all
// differ.
func TestAccessors(t *testing.T) {
	k := kmsg.RecordBatch{FirstOffset: 1<<40 + 1, Length: 49, PartitionLeaderEpoch: 77, Magic: 2,
		Attributes: 0x3c, LastOffsetDelta: 9, FirstTimestamp: 1 << 41, MaxTimestamp: 1<<41 + 5, ProducerID: 1 << 42,
		ProducerEpoch: 300, FirstSequence: math.MaxInt32 - 4, NumRecords: 8}
	b := Batch(k.AppendTo(nil))
	check := func(name string, got, want int64) {
		if got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	check("base offset", int64(b.BaseOffset()), k.FirstOffset)
	check("last offset", int64(b.LastOffset()), k.FirstOffset+9)
	check("next offset", int64(b.NextOffset()), k.FirstOffset+10)
	check("leader epoch", int64(b.LeaderEpoch()), 77)
	check("magic", int64(b.Magic()), 2)
	check("attributes", int64(b.Attributes()), 0x3c)
	check("codec", int64(b.Codec()), int64(Zstd))
	check("timestamp type", int64(b.TimestampType()), int64(LogAppendTime))
	check("last offset delta", int64(b.LastOffsetDelta()), 9)
	check("base timestamp", b.BaseTimestamp(), k.FirstTimestamp)
	check("max timestamp", b.MaxTimestamp(), k.MaxTimestamp)
	check("producer id", int64(b.ProducerID()), k.ProducerID)
	check("producer epoch", int64(b.ProducerEpoch()), 300)
	check("base sequence", int64(b.BaseSequence()), math.MaxInt32-4)
	check("last sequence wraps", int64(b.LastSequence()), 4)
	check("count", int64(b.Count()), 8)
	if !b.Transactional() || !b.Control() || b.HasDeleteHorizon() || b.DeleteHorizon() != NoTimestamp {
		t.Error("attribute bits are misread")
	}
	b[posAttributes+1] |= attrDeleteHorizon
	check("delete horizon", b.DeleteHorizon(), k.FirstTimestamp)
}

func TestNext(t *testing.T) {
	whole := sample(PlainOptions(None), 2)
	two := append(append([]byte(nil), whole...), sample(PlainOptions(Gzip), 3)...)
	first, rest, err := Next(two)
	if err != nil || len(first) != len(whole) || cap(first) != len(first) {
		t.Fatalf("first of two: %d bytes of %d, %v", len(first), len(whole), err)
	}
	if second, rest, err := Next(rest); err != nil || second.Count() != 3 || len(rest) != 0 {
		t.Fatalf("second of two: %v", err)
	}
	for n := range len(whole) {
		if _, rest, err := Next(whole[:n]); !errors.Is(err, ErrShort) || len(rest) != n {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	for _, length := range []int32{-1, 0, 48, math.MinInt32, math.MaxInt32} {
		bad := append([]byte(nil), whole...)
		binary.BigEndian.PutUint32(bad[posLength:], uint32(length))
		if _, _, err := Next(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("length %d: %v", length, err)
		}
	}
	for _, magic := range []byte{0, 1, 3, 0xff} {
		bad := append([]byte(nil), whole...)
		bad[posMagic] = magic
		if _, _, err := Next(bad[:posMagic+1]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("magic %d: %v", magic, err)
		}
	}
}

func TestAssignKeepsCRC(t *testing.T) {
	b := sample(PlainOptions(LZ4), 3)
	b.Assign(1<<50, 12)
	if b.BaseOffset() != 1<<50 || b.LeaderEpoch() != 12 || b.LastOffset() != 1<<50+2 {
		t.Errorf("assigned %d, epoch %d", b.BaseOffset(), b.LeaderEpoch())
	}
	if err := b.CheckCRC(); err != nil {
		t.Error(err)
	}
	for bit := posAttributes * 8; bit < len(b)*8; bit++ {
		b[bit/8] ^= 1 << (bit % 8)
		if err := b.CheckCRC(); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

// TestOnly has Kafka's answers of ProduceRequest.validateRecords and of the
// reader under it.
func TestOnly(t *testing.T) {
	good, zstd := sample(PlainOptions(None), 1), sample(PlainOptions(Zstd), 1)
	with := func(b []byte, at int, v ...byte) []byte {
		out := append([]byte(nil), b...)
		copy(out[at:], v)
		return out
	}
	join := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	for _, c := range []struct {
		name    string
		records []byte
		version int16
		want    kafka.ErrorCode
	}{
		{"one", good, 3, kafka.None},
		{"nothing", nil, 12, kafka.ErrInvalidRecord},
		{"a cut one", good[:len(good)-1], 12, kafka.ErrInvalidRecord},
		{"a cut one of an old format", with(good[:20], posMagic, 1), 12, kafka.ErrInvalidRecord},
		{"one and a cut one", join(good, good[:70]), 12, kafka.None},
		{"one and three bytes", join(good, []byte{1, 2, 3}), 12, kafka.None},
		{"two", join(good, good), 12, kafka.ErrInvalidRecord},
		{"one and an old one", join(good, with(good, posMagic, 1)), 12, kafka.ErrInvalidRecord},
		{"one and nonsense", join(good, make([]byte, 30)), 12, kafka.ErrCorruptMessage},
		{"magic 0", with(good, posMagic, 0), 12, kafka.ErrInvalidRecord},
		{"magic 1", with(good, posMagic, 1), 12, kafka.ErrInvalidRecord},
		{"magic 3", with(good, posMagic, 3), 12, kafka.ErrCorruptMessage},
		{"length 13", with(good, posLength, 0, 0, 0, 13), 12, kafka.ErrCorruptMessage},
		{"length 48", with(good, posLength, 0, 0, 0, 48), 12, kafka.ErrCorruptMessage},
		{"length -1", with(good, posLength, 255, 255, 255, 255), 12, kafka.ErrCorruptMessage},
		{"zstd in v6", zstd, 6, kafka.ErrUnsupportedCompressionType},
		{"zstd in v7", zstd, 7, kafka.None},
	} {
		b, err := Only(c.records, c.version)
		var plain *kafka.Error
		var told *InvalidError
		got := kafka.None
		switch {
		case errors.As(err, &plain):
			got = plain.Code
		case errors.As(err, &told) && told.Message != "":
			got = told.Code
		}
		if got != c.want || (got == kafka.None) != (b != nil) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}
