package transcript

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// inflatedMax bounds what one batch of an answer may decompress to, in bytes.
const inflatedMax = 64 << 20

// batches prints the record batches of a fetch answer, two lines or more each.
func (r *renderer) batches(b []byte) []string {
	out := []string{}
	for len(b) > 0 {
		if len(b) < 61 {
			return append(out, fmt.Sprintf("- partial: %d bytes", len(b)))
		}
		size := 12 + int(int32(binary.BigEndian.Uint32(b[8:])))
		if size < 61 {
			return append(out, fmt.Sprintf("- broken: length %d", size-12))
		}
		if size > len(b) {
			return append(out, fmt.Sprintf("- partial: %d bytes of a batch of %d", len(b), size))
		}
		out = append(out, r.batch(b[:size])...)
		b = b[size:]
	}
	return out
}

func (r *renderer) batch(b []byte) []string {
	base := int64(binary.BigEndian.Uint64(b))
	attrs := binary.BigEndian.Uint16(b[21:])
	codec := int(attrs & 7)
	name := strconv.Itoa(codec)
	if codec < len(codecNames) {
		name = codecNames[codec]
	}
	first, largest := int64(binary.BigEndian.Uint64(b[27:])), int64(binary.BigEndian.Uint64(b[35:]))
	head := fmt.Sprintf("- batch: %d..%d epoch=%d codec=%s first=%s max=%s", base,
		base+int64(int32(binary.BigEndian.Uint32(b[23:]))), int32(binary.BigEndian.Uint32(b[12:])), name,
		clockText(first), clockText(largest))
	if pid := int64(binary.BigEndian.Uint64(b[43:])); pid >= 0 {
		head += fmt.Sprintf(" pid=%s pepoch=%d seq=%d", r.masks.pid(pid), int16(binary.BigEndian.Uint16(b[51:])),
			int32(binary.BigEndian.Uint32(b[53:])))
	}
	for bit, word := range []string{3: " append-time", 4: " txn", 5: " control", 6: " delete-horizon"} {
		if word != "" && attrs&(1<<bit) != 0 {
			head += word
		}
	}
	if magic := b[16]; magic != 2 {
		head += fmt.Sprintf(" magic=%d", magic)
	}
	if binary.BigEndian.Uint32(b[17:]) != crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)) {
		head += " crc=bad"
	}
	out := []string{head}
	records, err := inflate(codec, b[61:])
	if err != nil {
		return append(out, "  broken: "+err.Error())
	}
	n := int(int32(binary.BigEndian.Uint32(b[57:])))
	for i := range n {
		line, rest, err := recordText(records, base, first)
		if err != nil {
			return append(out, fmt.Sprintf("  record %d of %d: %v", i, n, err))
		}
		out = append(out, "  - "+line)
		records = rest
		if i == 19 && n > 21 { // Long batches show their first records.
			return append(out, fmt.Sprintf("  - %d more", n-20))
		}
	}
	if len(records) > 0 {
		out = append(out, fmt.Sprintf("  broken: %d bytes after the last record", len(records)))
	}
	return out
}

func clockText(ms int64) string {
	if isRecent(ms) {
		return "$now"
	}
	return strconv.FormatInt(ms, 10)
}

var errShort = errors.New("ends early")

// recordText prints "OFFSET KEY = VALUE @TIME {HEADERS}".
func recordText(b []byte, base, first int64) (line string, rest []byte, err error) {
	c := cursor{b: b}
	c.b = c.take(c.varint())
	rest = b[min(len(b), c.at):]
	in := cursor{b: c.b, short: c.short}
	in.take(1)
	ts := first + in.varint()
	off := base + in.varint()
	key, value := in.field(), in.field()
	line = fmt.Sprintf("%d: %s = %s @%s", off, key, value, clockText(ts))
	for range min(in.varint(), 64) {
		line += " " + in.field() + "=" + in.field()
	}
	if in.short {
		return "", nil, errShort
	}
	return line, rest, nil
}

type cursor struct {
	b     []byte
	at    int
	short bool
}

func (c *cursor) varint() int64 {
	if c.at >= len(c.b) {
		c.short = true
		return 0
	}
	v, n := binary.Varint(c.b[c.at:])
	if n <= 0 {
		c.short = true
		return 0
	}
	c.at += n
	return v
}

func (c *cursor) take(n int64) []byte {
	if n < 0 || n > int64(len(c.b)-c.at) {
		c.short = true
		return nil
	}
	out := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return out
}

// field prints a nullable byte field; a long one by its length and hash.
func (c *cursor) field() string {
	n := c.varint()
	if n == -1 {
		return "null"
	}
	b := c.take(n)
	if len(b) > 64 {
		return fmt.Sprintf("(%d bytes, sha256 %x)", len(b), sha256.Sum256(b))
	}
	if s := string(b); utf8.Valid(b) && plainText.MatchString(s) {
		return s
	}
	return strings.ReplaceAll(strconv.Quote(string(b)), "\n", `\n`)
}

// inflate decompresses the records of a batch.
func inflate(codec int, b []byte) ([]byte, error) {
	switch codec {
	case 0:
		return b, nil
	case 1:
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(z, inflatedMax))
	case 2:
		return inflateSnappy(b)
	case 3:
		return io.ReadAll(io.LimitReader(lz4.NewReader(bytes.NewReader(b)), inflatedMax))
	case 4:
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(inflatedMax))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.DecodeAll(b, nil)
	}
	return nil, fmt.Errorf("unknown codec %d", codec)
}

func inflateSnappy(b []byte) ([]byte, error) {
	rest, framed := bytes.CutPrefix(b, []byte("\x82SNAPPY\x00"))
	if !framed {
		return s2.Decode(nil, b)
	}
	if len(rest) < 8 {
		return nil, errShort
	}
	rest = rest[8:]
	var out []byte
	for len(rest) > 0 {
		if len(rest) < 4 || uint64(binary.BigEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return nil, errShort
		}
		n := int(binary.BigEndian.Uint32(rest))
		chunk, err := s2.Decode(nil, rest[4:4+n])
		if err != nil {
			return nil, err
		}
		out = append(out, chunk...)
		rest = rest[4+n:]
	}
	return out, nil
}
