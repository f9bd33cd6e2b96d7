package transcript

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"go.yaml.in/yaml/v3"
)

// DefaultTimestamp is the time of records that name none: September 2020.
const DefaultTimestamp = 1_600_000_000_000

// BatchSpec describes one record batch of format 2, right or wrong. Zero and nil fields take the right value.
//
//	offset size
//	 0  8 base offset          8  4 length from byte 12 on
//	12  4 leader epoch        16  1 magic          17  4 CRC-32C of byte 21 on
//	21  2 attributes          23  4 last offset delta
//	27  8 base timestamp      35  8 max timestamp
//	43  8 producer id         51  2 producer epoch 53  4 base sequence
//	57  4 record count        61    records
type BatchSpec struct {
	Records   []RecordSpec `yaml:"records"`
	Codec     string       `yaml:"codec"`
	Attrs     int16        `yaml:"attrs"` // Added to the codec's bits.
	Control   bool         `yaml:"control"`
	Txn       bool         `yaml:"txn"`
	AtAppend  bool         `yaml:"append"` // The log-append-time bit.
	Base      int64        `yaml:"base"`
	Epoch     *int32       `yaml:"epoch"`
	Magic     *int8        `yaml:"magic"`
	CRC       string       `yaml:"crc"` // "bad", or right.
	LastDelta *int32       `yaml:"last"`
	First     *int64       `yaml:"first"`
	Max       *int64       `yaml:"max"`
	PID       *string      `yaml:"pid"` // A number or a placeholder.
	PEpoch    int16        `yaml:"pepoch"`
	Seq       *int32       `yaml:"seq"`
	Count     *int32       `yaml:"count"`
	Length    *int32       `yaml:"length"`
	Raw       string       `yaml:"raw"`  // Hex: the bytes after the header, as they are.
	Tail      string       `yaml:"tail"` // Hex: bytes after the batch.
	Cut       int          `yaml:"cut"`  // Bytes to take off the end.
	Repeat    int          `yaml:"repeat"`

	masks *masks
}

// RecordSpec is one record of a BatchSpec. A plain text instead of a mapping is a value without key.
type RecordSpec struct {
	K     *string     `yaml:"k"`
	V     *string     `yaml:"v"`
	VSize int         `yaml:"vsize"` // A value of so many letters x.
	TS    *int64      `yaml:"ts"`
	Delta *int64      `yaml:"delta"` // Offset delta, its index by default.
	H     [][]*string `yaml:"h"`     // Pairs of name and value.
	Len   *int64      `yaml:"len"`   // The length field, right by default.
	HLen  *int64      `yaml:"hlen"`  // The header count, right by default.
	Attr  int8        `yaml:"attr"`
	VLen  *int64      `yaml:"vlen"` // The value length field, right by default.
}

// UnmarshalYAML reads a mapping or a plain value.
func (r *RecordSpec) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if n.Tag != "!!null" {
			r.V = &n.Value
		}
		return nil
	}
	type plain RecordSpec
	return n.Decode((*plain)(r))
}

func (s *BatchSpec) decode(n *yaml.Node) error {
	if err := n.Decode(s); err != nil {
		return err
	}
	for i := range n.Content { // A misspelt field would silently test nothing.
		if i%2 == 0 && !strings.Contains(batchFields, " "+n.Content[i].Value+" ") {
			return fmt.Errorf("line %d: a batch has no field %q", n.Content[i].Line, n.Content[i].Value)
		}
	}
	return nil
}

const batchFields = " records codec attrs control txn append base epoch magic crc last first max pid pepoch seq count " +
	"length raw tail cut repeat "

// Append appends the bytes of the batch to dst.
func (s *BatchSpec) Append(dst []byte) ([]byte, error) {
	if n := len(s.Records); s.Repeat > 1 && n > 0 {
		for i := n; i < s.Repeat; i++ {
			s.Records = append(s.Records, s.Records[i%n])
		}
	}
	first, largest := s.times()
	body, err := s.body(first)
	if err != nil {
		return nil, err
	}
	codec, err := codecNumber(s.Codec)
	if err != nil {
		return nil, err
	}
	attrs := s.Attrs | int16(codec)
	for bit, on := range map[int]bool{3: s.AtAppend, 4: s.Txn, 5: s.Control} {
		if on {
			attrs |= 1 << bit
		}
	}
	pid, seq := int64(-1), int32(-1)
	pepoch := int16(-1)
	if s.PID != nil {
		if _, err := fmt.Sscan(s.masks.expand(*s.PID), &pid); err != nil {
			return nil, fmt.Errorf("pid %q: %w", *s.PID, err)
		}
		pepoch, seq = s.PEpoch, 0
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(s.Base))
	b = binary.BigEndian.AppendUint32(b, uint32(or(s.Length, int32(49+len(body)))))
	b = binary.BigEndian.AppendUint32(b, uint32(or(s.Epoch, -1)))
	b = append(b, byte(or(s.Magic, 2)), 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(attrs))
	b = binary.BigEndian.AppendUint32(b, uint32(or(s.LastDelta, int32(len(s.Records)-1))))
	b = binary.BigEndian.AppendUint64(b, uint64(or(s.First, first)))
	b = binary.BigEndian.AppendUint64(b, uint64(or(s.Max, largest)))
	b = binary.BigEndian.AppendUint64(b, uint64(pid))
	b = binary.BigEndian.AppendUint16(b, uint16(pepoch))
	b = binary.BigEndian.AppendUint32(b, uint32(or(s.Seq, seq)))
	b = binary.BigEndian.AppendUint32(b, uint32(or(s.Count, int32(len(s.Records)))))
	b = append(b, body...)
	crc := crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli))
	if s.CRC == "bad" {
		crc ^= 1
	}
	binary.BigEndian.PutUint32(b[17:], crc)
	tail, err := hex.DecodeString(s.Tail)
	if err != nil {
		return nil, err
	}
	b = append(b, tail...)
	return append(dst, b[:len(b)-s.Cut]...), nil
}

// times returns the first record's time and the largest one.
func (s *BatchSpec) times() (first, largest int64) {
	for i, r := range s.Records {
		ts := or(r.TS, DefaultTimestamp)
		if i == 0 {
			first, largest = ts, ts
		}
		largest = max(largest, ts)
	}
	return first, largest
}

func (s *BatchSpec) body(first int64) ([]byte, error) {
	if s.Raw != "" {
		return hex.DecodeString(s.Raw)
	}
	var b []byte
	for i, r := range s.Records {
		b = r.append(b, int64(i), first)
	}
	return compress(s.Codec, b)
}

func (r *RecordSpec) append(dst []byte, index, first int64) []byte {
	b := []byte{byte(r.Attr)}
	b = binary.AppendVarint(b, or(r.TS, DefaultTimestamp)-first)
	b = binary.AppendVarint(b, or(r.Delta, index))
	b = appendBytes(b, r.K)
	if r.VSize > 0 {
		v := strings.Repeat("x", r.VSize)
		r.V = &v
	}
	if r.VLen != nil {
		b = append(binary.AppendVarint(b, *r.VLen), *r.V...)
	} else {
		b = appendBytes(b, r.V)
	}
	b = binary.AppendVarint(b, or(r.HLen, int64(len(r.H))))
	for _, h := range r.H {
		b = appendBytes(b, h[0])
		b = appendBytes(b, h[1])
	}
	dst = binary.AppendVarint(dst, or(r.Len, int64(len(b))))
	return append(dst, b...)
}

func appendBytes(b []byte, s *string) []byte {
	if s == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(*s))), *s...)
}

func or[T any](p *T, def T) T {
	if p != nil {
		return *p
	}
	return def
}

// codecNames are Kafka's compression codecs by their number.
var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

func codecNumber(name string) (int, error) {
	if name == "" || name == "snappy-raw" {
		return map[string]int{"": 0, "snappy-raw": 2}[name], nil
	}
	for i, n := range codecNames {
		if n == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no codec is called %q", name)
}

// compress packs record bytes as a client would: snappy in xerial frames of one chunk, snappy-raw as a bare block.
func compress(codec string, b []byte) ([]byte, error) {
	var buf bytes.Buffer
	switch codec {
	case "", "none":
		return b, nil
	case "gzip":
		w := gzip.NewWriter(&buf)
		if _, err := w.Write(b); err != nil {
			return nil, err
		}
		err := w.Close()
		return buf.Bytes(), err
	case "snappy-raw":
		return s2.EncodeSnappy(nil, b), nil
	case "snappy":
		block := s2.EncodeSnappy(nil, b)
		buf.WriteString("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
		buf.Write(binary.BigEndian.AppendUint32(nil, uint32(len(block))))
		buf.Write(block)
		return buf.Bytes(), nil
	case "lz4":
		w := lz4.NewWriter(&buf)
		if err := w.Apply(lz4.BlockChecksumOption(false), lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
			return nil, err
		}
		if _, err := w.Write(b); err != nil {
			return nil, err
		}
		err := w.Close()
		return buf.Bytes(), err
	case "zstd":
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return w.EncodeAll(b, nil), w.Close()
	}
	return nil, fmt.Errorf("no codec is called %q", codec)
}
