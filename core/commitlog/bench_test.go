package commitlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

var tp = kafka.TopicPartition{Topic: "t", Partition: 0}

// bench is a log on a memory disk with its surroundings.
type bench struct {
	t     testing.TB
	fs    vfs.FS
	clock *clock.Manual
	opts  Options
	log   *Log
}

// newBench opens an empty log. change may alter the options.
func newBench(t testing.TB, fsys vfs.FS, change func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, fs: fsys, clock: clock.NewManual(time.UnixMilli(1_000_000))}
	b.opts = Options{
		FS: fsys, Dir: "/data/t-0", TP: tp, TopicID: kafka.TopicID{1}, Clock: b.clock,
		Config: DefaultConfig(), Files: NewFiles(0, nil), RecoveryPoint: kafka.NoOffset, StartOffset: kafka.NoOffset,
		Producers: NewProducerBudget(0, nil),
	}
	if change != nil {
		change(&b.opts)
	}
	b.open(false)
	return b
}

func (b *bench) open(clean bool) {
	b.t.Helper()
	b.opts.Clean = clean
	l, err := Open(context.Background(), b.opts)
	if err != nil {
		b.t.Fatalf("open: %v", err)
	}
	b.log = l
	b.t.Cleanup(func() { _ = l.Close(false) })
}

// reopen closes the log and opens it again; after an unclean close the recovery
// point of the old one is the checkpoint.
func (b *bench) reopen(clean bool) {
	b.t.Helper()
	b.opts.RecoveryPoint, b.opts.StartOffset = b.log.RecoveryPoint(), b.log.StartOffset()
	if err := b.log.Close(clean); err != nil {
		b.t.Fatalf("close: %v", err)
	}
	if clean {
		b.opts.RecoveryPoint = b.log.RecoveryPoint()
	}
	b.open(clean)
}

// plain is a batch of n records without a producer, each with a value of size
// bytes, at timestamps ts, ts+1, ….
func plain(n, size int, ts int64) record.Batch {
	w := record.NewBuilder(record.PlainOptions(record.None))
	for i := range n {
		w.Append(ts+int64(i), nil, bytes.Repeat([]byte{byte('a' + i%26)}, size), nil)
	}
	return w.Bytes()
}

// info is the AppendInfo of a batch with the clock's time.
func (b *bench) info(batch record.Batch) AppendInfo {
	return AppendInfo{MaxTimestamp: batch.MaxTimestamp(), LogAppendTimeMS: -1, NowMS: clock.Millis(b.clock.Now())}
}

func (b *bench) append(batch record.Batch, epoch kafka.LeaderEpoch) Appended {
	b.t.Helper()
	out, err := b.log.Append(batch, epoch, b.info(batch))
	if err != nil {
		b.t.Fatalf("append: %v", err)
	}
	return out
}

// fill appends n batches of two records.
func (b *bench) fill(n, size int) {
	b.t.Helper()
	for range n {
		b.append(plain(2, size, int64(b.log.EndOffset())), 0)
	}
}

// read returns the bytes of a Read.
func (b *bench) read(from kafka.Offset, o ReadOptions) ([]byte, Slice) {
	b.t.Helper()
	s, err := b.log.Read(from, o)
	if err != nil {
		b.t.Fatalf("read from %d: %v", from, err)
	}
	if s.Range == nil {
		return nil, s
	}
	defer s.Range.Release()
	got, err := s.Range.ReadAll(nil)
	if err != nil {
		b.t.Fatalf("read from %d: %v", from, err)
	}
	return got, s
}

// all reads the log through, max bytes at a time, checking that slices follow each
// other.
func (b *bench) all(max int) []byte {
	b.t.Helper()
	var out []byte
	for at := b.log.StartOffset(); at < b.log.EndOffset(); {
		got, s := b.read(at, ReadOptions{MaxBytes: max, Upper: b.log.EndOffset(), MinOne: true})
		if s.Range == nil || s.Next <= at {
			b.t.Fatalf("read from %d stands still: %+v", at, s)
		}
		out = append(out, got...)
		at = s.Next
	}
	return out
}

func (b *bench) names() string {
	b.t.Helper()
	list, err := b.fs.ReadDir(b.opts.Dir)
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, strings.TrimLeft(e.Name(), "0"))
	}
	return strings.Join(names, " ")
}

// span is the first base and the last offset of whole batches.
func span(t testing.TB, b []byte) (first, last kafka.Offset) {
	t.Helper()
	first = -1
	for len(b) > 0 {
		batch, rest, err := record.Next(b)
		if err != nil {
			t.Fatalf("not cut at a batch boundary: %v", err)
		}
		if first < 0 {
			first = batch.BaseOffset()
		}
		last, b = batch.LastOffset(), rest
	}
	return first, last
}

// batchOf is a batch of one record of an idempotent producer.
func batchOf(id kafka.ProducerID, epoch kafka.ProducerEpoch, seq int32, ts int64) record.Batch {
	w := record.NewBuilder(record.BuilderOptions{ProducerID: id, ProducerEpoch: epoch, BaseSequence: seq, LeaderEpoch: -1})
	w.Append(ts, nil, []byte("v"), nil)
	return w.Bytes()
}

// sequenced puts another sequence number into a batch; its checksum does not
// matter to the log.
func sequenced(b record.Batch, seq int32) record.Batch {
	binary.BigEndian.PutUint32(b[53:], uint32(seq))
	return b
}
