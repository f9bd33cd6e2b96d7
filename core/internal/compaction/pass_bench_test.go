package compaction

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// BenchmarkPass compacts a log in which every key was written ten times, in batches of
// 32 records with values of 200 bytes.
func BenchmarkPass(b *testing.B) {
	for _, codec := range []record.Codec{record.None, record.Zstd} {
		for _, n := range []int{2_000, 200_000} {
			b.Run(fmt.Sprintf("%s/%d", codec, n), func(b *testing.B) { benchmarkPass(b, codec, n) })
		}
	}
}

func benchmarkPass(b *testing.B, codec record.Codec, n int) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r := newRig(vfs.OS(), 1)
		r.dir = filepath.Join(b.TempDir(), "t-0")
		r.topic.SegmentBytes, r.topic.IndexIntervalBytes = 8<<20, 4096
		if err := r.reopen(false); err != nil {
			b.Fatal(err)
		}
		if err := r.appendMany(codec, n); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(r.log.SizeBytes())
		b.StartTimer()
		if err := r.compact(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := r.log.Close(false); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// appendMany writes n records of n/10 keys, and makes them durable.
func (r *rig) appendMany(codec record.Codec, n int) error {
	random, value := rand.New(rand.NewPCG(1, 1)), make([]byte, 200)
	builder := record.NewBuilder(record.PlainOptions(codec))
	for at := 0; at < n; at += 32 {
		builder.Reset()
		for range 32 {
			for i := 0; i < len(value)/2; i += 8 {
				binary.LittleEndian.PutUint64(value[i:], random.Uint64())
			}
			builder.Append(clock.Millis(r.clock.Now()), fmt.Appendf(nil, "key-%08d", random.IntN(n/10)), value, nil)
		}
		batch := builder.Bytes()
		if _, err := r.log.Append(batch, 1, commitlog.AppendInfo{MaxTimestamp: batch.MaxTimestamp(), LogAppendTimeMS: -1, NowMS: clock.Millis(r.clock.Now())}); err != nil {
			return err
		}
	}
	if err := r.log.Roll(); err != nil {
		return err
	}
	_, err := r.log.Sync()
	return err
}
