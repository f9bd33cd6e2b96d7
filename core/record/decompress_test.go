package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// mixed is data that compresses about by half.
func mixed(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.IntN(16))
	}
	return out
}

// TestLevels compresses with every level of every codec, and levels that do not
// exist.
func TestLevels(t *testing.T) {
	for _, n := range []int{0, 1, 100, 70_000, 300_000} {
		data := mixed(n)
		for _, codec := range allCodecs[1:] {
			step := 1
			if n > 100_000 { // one level of each kind: more are slow and show nothing new
				step = 6
			}
			for level := -3; level <= 23; level += step {
				out, err := compress([]byte("head"), codec, level, data)
				if err != nil || !bytes.HasPrefix(out, []byte("head")) {
					t.Fatalf("%s level %d: %v", codec, level, err)
				}
				back, err := decompress(nil, codec, out[4:], n)
				if err != nil || !bytes.Equal(back, data) {
					t.Fatalf("%s level %d, %d bytes: %d came back, %v", codec, level, n, len(back), err)
				}
				if n > 1000 && (codec == Gzip || codec == Zstd) && level == 9 && len(out) > n*9/10 {
					t.Errorf("%s level %d: %d bytes of %d", codec, level, len(out), n)
				}
			}
		}
	}
}

// TestLZ4Frames has the legal forms of a frame: linked blocks, content size,
// checksums, every block size.
func TestLZ4Frames(t *testing.T) {
	data := mixed(9 << 20 / 2)
	for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb} {
		for _, sums := range []bool{false, true} {
			var out bytes.Buffer
			w := lz4.NewWriter(&out)
			err := w.Apply(lz4.BlockSizeOption(size), lz4.BlockChecksumOption(sums), lz4.ChecksumOption(sums),
				lz4.SizeOption(uint64(len(data))))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			back, err := decompress(nil, LZ4, out.Bytes(), len(data))
			if err != nil || !bytes.Equal(back, data) {
				t.Errorf("block size %d, checksums %t: %v", size, sums, err)
			}
		}
	}
	// Two linked blocks by hand: the second copies 8 bytes out of the first.
	frame := []byte{0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0xc0,
		9, 0, 0, 0, 0x80, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h',
		9, 0, 0, 0, 0x04, 8, 0, 0x50, '1', '2', '3', '4', '5',
		0, 0, 0, 0}
	back, err := decompress(nil, LZ4, frame, 1000)
	if err != nil || string(back) != "abcdefghabcdefgh12345" {
		t.Errorf("linked blocks: %q, %v", back, err)
	}
}

// TestXerial has the hostile streams of go-xerial-snappy's issue 2.
func TestXerial(t *testing.T) {
	head := appendXerial(nil, nil)
	chunk := func(n int32, block ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(n)), block...)
	}
	for name, stream := range map[string][]byte{
		"longer than what remains": chunk(100, 1, 0, 'a'),
		"2 GiB":                    chunk(1<<31-1, 1, 0, 'a'),
		"negative":                 chunk(-5, 1, 0, 'a'),
		"zero":                     chunk(0),
		"cut length":               {0, 0, 0},
		"block claims 2 GiB":       chunk(5, 0xff, 0xff, 0xff, 0xff, 0x07),
		"cut header":               xerialMagic[:],
	} {
		out, err := decompress(nil, Snappy, append(bytes.Clone(head), stream...), 1<<20)
		if !errors.Is(err, ErrCorrupt) || cap(out) > minBuffer {
			t.Errorf("%s: %v, %d bytes of memory", name, err, cap(out))
		}
	}
	million := bytes.Clone(head)
	for range 1_000_000 {
		million = append(million, 0, 0, 0, 1, 0)
	}
	if out, err := decompress(nil, Snappy, million, 1<<20); err != nil || len(out) != 0 {
		t.Errorf("a million empty blocks: %d bytes, %v", len(out), err)
	}
	letters := bytes.Clone(head)
	for range 10_000 {
		letters = append(letters, chunk(3, 1, 0, 'a')...)
	}
	if out, err := decompress(nil, Snappy, letters, 1<<20); err != nil || len(out) != 10_000 {
		t.Errorf("ten thousand blocks of one byte: %d bytes, %v", len(out), err)
	}
	if _, err := decompress(nil, Snappy, letters, 9_999); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte over the limit: %v", err)
	}
	if out, err := decompress(nil, Snappy, snappy.Encode(nil, mixed(70_000)), 70_000); err != nil || len(out) != 70_000 {
		t.Errorf("a raw block: %d bytes, %v", len(out), err)
	}
}

// TestBombs decompresses zeros into every codec's limit.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 32<<20)
	for _, codec := range allCodecs[1:] {
		small := compressed(codec, zeros)
		back, err := decompress(nil, codec, small, 3<<20)
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", codec, err)
		}
		if cap(back) > 8<<20 {
			t.Errorf("%s: %d bytes of memory for a limit of 3 MiB", codec, cap(back))
		}
		if back, err = decompress(nil, codec, small, len(zeros)); err != nil || len(back) != len(zeros) {
			t.Errorf("%s at the limit: %d bytes, %v", codec, len(back), err)
		}
	}
	// A frame of 20 bytes that claims 1 GiB gets no memory for its claim.
	lie := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x40, 1, 0, 0}
	back, err := decompress(nil, Zstd, lie, 1<<30)
	if err == nil || cap(back) > 1<<20 {
		t.Errorf("zstd frame with a false size: %d bytes of memory, %v", cap(back), err)
	}
	// Two frames, one without its size.
	var stream bytes.Buffer
	w, err := zstd.NewWriter(&stream, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(zeros[:5<<20]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	two := append(stream.Bytes(), compressed(Zstd, []byte("tail"))...)
	if back, err := decompress(nil, Zstd, two, 6<<20); err != nil || len(back) != 5<<20+4 {
		t.Errorf("two zstd frames: %d bytes, %v", len(back), err)
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct{ most, ratio, n, want int }{
		{0, 0, 1, RatioFloor},
		{0, 0, 20_000, 20_000 * DefaultMaxRatio},
		{0, 0, 1 << 20, DefaultMaxDecompressedBytes},
		{100, 10, 1, 100},
		{32 << 20, 10, 1_700_000, 17_000_000},
		{2 << 20, 10, 1 << 30, 2 << 20},
	} {
		if got := (DecompressLimits{c.most, c.ratio}).bytes(c.n); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestBrokenStreams cuts and flips every stream: an error or other bytes, never a
// panic and never more than the limit.
func TestBrokenStreams(t *testing.T) {
	data := mixed(3000)
	for _, codec := range allCodecs[1:] {
		whole := compressed(codec, data)
		for n := range len(whole) {
			if out, err := decompress(nil, codec, whole[:n], 4000); err == nil && len(out) == len(data) && codec != Gzip {
				t.Fatalf("%s: the first %d of %d bytes were enough", codec, n, len(whole))
			}
		}
		for i := range whole {
			broken := bytes.Clone(whole)
			broken[i] ^= 0x55
			if out, _ := decompress(nil, codec, broken, 4000); len(out) > 4000 {
				t.Fatalf("%s: %d bytes over the limit", codec, len(out))
			}
		}
	}
}

func BenchmarkDecompress(b *testing.B) {
	for _, codec := range allCodecs[1:] {
		b.Run(fmt.Sprint(codec), func(b *testing.B) {
			src := compressed(codec, mixed(64<<10))
			dst := make([]byte, 0, 128<<10)
			b.SetBytes(64 << 10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decompress(dst, codec, src, 64<<10); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A panic in a codec's library must not end the process: the bytes came from
// anybody.
func TestPanicOfACodecIsCorruption(t *testing.T) {
	broken := func() (out []byte, err error) {
		defer shield(&out, &err, Zstd)
		return []byte("half of it")[:20], nil // beyond the capacity
	}
	if out, err := broken(); !errors.Is(err, ErrCorrupt) || out != nil {
		t.Fatalf("got %q, error %v; want ErrCorrupt", out, err)
	}
}
