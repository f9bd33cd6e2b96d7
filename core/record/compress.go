package record

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// DefaultLevel asks for a codec's usual level: gzip 6, lz4 fast, zstd 3.
const DefaultLevel = 0

// Kafka's own defaults of compression.gzip.level and compression.lz4.level.
const (
	gzipKafkaDefault = -1
	lz4KafkaDefault  = 9
)

// Encoders are expensive to make, so each level keeps its idle ones. The pools
// hold scratch memory only.
var (
	gzips [gzip.BestCompression + 1]sync.Pool
	lz4s  [lz4Levels]sync.Pool
	zstds [zstd.SpeedBestCompression + 1]sync.Pool
)

const lz4Levels = 10 // 0 is fast, 1 to 9 are the levels of the codec

// compress appends src, compressed, to dst. The level is Kafka's
// compression.<codec>.level or DefaultLevel; one that the codec does not have
// stands for the nearest. Snappy has no levels.
func compress(dst []byte, codec Codec, level int, src []byte) ([]byte, error) {
	switch codec {
	case None:
		return append(dst, src...), nil
	case Gzip:
		return appendGzip(dst, level, src)
	case Snappy:
		return appendXerial(dst, src), nil
	case LZ4:
		return appendLZ4(dst, level, src)
	case Zstd:
		return appendZstd(dst, level, src)
	}
	return dst, fmt.Errorf("compress: codec %d does not exist", codec)
}

func appendGzip(dst []byte, level int, src []byte) ([]byte, error) {
	if level == DefaultLevel || level == gzipKafkaDefault {
		level = 6
	}
	level = min(max(level, gzip.BestSpeed), gzip.BestCompression)
	w, _ := gzips[level].Get().(*gzip.Writer)
	if w == nil {
		var err error
		if w, err = gzip.NewWriterLevel(nil, level); err != nil {
			return dst, fmt.Errorf("gzip level %d: %w", level, err)
		}
	}
	out := bytes.NewBuffer(dst)
	w.Reset(out)
	if _, err := w.Write(src); err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	if err := w.Close(); err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	w.Reset(nil)
	gzips[level].Put(w)
	return out.Bytes(), nil
}

// appendLZ4 writes the frame that Java clients write: independent blocks of
// 64 KiB without checksums of their own.
func appendLZ4(dst []byte, level int, src []byte) ([]byte, error) {
	step := 0
	if level != DefaultLevel && level != lz4KafkaDefault {
		step = min(max(level, 1), lz4Levels-1)
	}
	w, _ := lz4s[step].Get().(*lz4.Writer)
	if w == nil {
		w = lz4.NewWriter(nil)
		err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false),
			lz4.ConcurrencyOption(1), lz4.CompressionLevelOption(lz4Level(step)))
		if err != nil {
			return dst, fmt.Errorf("lz4 level %d: %w", level, err)
		}
	}
	out := bytes.NewBuffer(dst)
	w.Reset(out)
	if _, err := w.Write(src); err != nil {
		return dst, fmt.Errorf("lz4: %w", err)
	}
	if err := w.Close(); err != nil {
		return dst, fmt.Errorf("lz4: %w", err)
	}
	lz4s[step].Put(w)
	return out.Bytes(), nil
}

func lz4Level(step int) lz4.CompressionLevel {
	if step == 0 {
		return lz4.Fast
	}
	return lz4.Level1 << (step - 1)
}

func appendZstd(dst []byte, level int, src []byte) ([]byte, error) {
	if level == DefaultLevel {
		level = 3
	}
	speed := zstd.EncoderLevelFromZstd(level)
	e, _ := zstds[speed].Get().(*zstd.Encoder)
	if e == nil {
		var err error
		// The batch has a checksum already.
		e, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed),
			zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return dst, fmt.Errorf("zstd level %d: %w", level, err)
		}
	}
	dst = e.EncodeAll(src, dst)
	zstds[speed].Put(e)
	return dst, nil
}
