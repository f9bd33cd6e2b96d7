package commitlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
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

func TestEmptyLogIsAFolderAndMetadata(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	if got := b.names(); got != "partition.metadata" {
		t.Fatalf("files %q: an idle partition must cost nothing more", got)
	}
	if err := b.log.AssignEpoch(2, 0); err != nil {
		t.Fatal(err)
	}
	if e, end := b.log.EpochEnd(2); b.log.LatestEpoch() != 2 || e != 2 || end != 0 {
		t.Fatalf("latest epoch %d, epoch %d ends at %d: one without data must be known", b.log.LatestEpoch(), e, end)
	}
	b.reopen(true)
	if got := b.names(); got != "partition.metadata" {
		t.Fatalf("files %q: an epoch without data must cost nothing on disk", got)
	}
	if b.log.EndOffset() != 0 {
		t.Fatalf("an empty log ends at %d", b.log.EndOffset())
	}
	if _, s := b.read(0, ReadOptions{MaxBytes: 1 << 20, Upper: 100}); s.Range != nil || s.Next != 0 {
		t.Fatalf("%+v from an empty log", s)
	}
}

func TestAppendsAreReadBackAtAnyLimit(t *testing.T) {
	b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentBytes, o.Config.IndexIntervalBytes = 9000, 500 })
	var want []byte
	for i := range 200 {
		batch := plain(1+i%4, 10+i*7%300, int64(i))
		b.append(batch, 3)
		want = append(want, batch...)
	}
	if n := len(b.log.Segments()); n < 5 {
		t.Fatalf("%d segments", n)
	}
	for _, mode := range []string{"live", "clean", "crash"} {
		switch mode {
		case "clean":
			b.reopen(true)
		case "crash":
			b.reopen(false)
		}
		for _, max := range []int{1, 100, 1000, 4096, 1 << 20} {
			if got := b.all(max); !bytes.Equal(got, want) {
				t.Fatalf("%s: %d bytes at a time: got %d bytes, want %d", mode, max, len(got), len(want))
			}
		}
		if b.log.LatestEpoch() != 3 {
			t.Fatalf("%s: epoch %d", mode, b.log.LatestEpoch())
		}
	}
}

func TestReadStopsBeforeUpper(t *testing.T) {
	b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.IndexIntervalBytes = 300 })
	var ends []kafka.Offset
	for i := range 100 {
		b.append(plain(1+i%3, 50, int64(i)), 0)
		ends = append(ends, b.log.EndOffset())
	}
	for range 2 {
		for from := kafka.Offset(0); from < b.log.EndOffset(); from += 7 {
			for _, upper := range ends {
				got, s := b.read(from, ReadOptions{MaxBytes: 1 << 20, Upper: upper})
				if from >= upper {
					if s.Range != nil || s.Next != from {
						t.Fatalf("from %d upper %d: %+v, want nothing", from, upper, s)
					}
					continue
				}
				first, last := span(t, got)
				if first > from || last+1 != upper || s.Next != upper {
					t.Fatalf("from %d upper %d: got %d to %d, next %d", from, upper, first, last, s.Next)
				}
			}
		}
		b.reopen(true)
	}
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

func TestKIP74FirstBatchMayBeLarger(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	b.append(plain(1, 1000, 0), 0)
	b.append(plain(1, 10, 0), 0)
	if _, s := b.read(0, ReadOptions{MaxBytes: 500, Upper: 2}); s.Range != nil || !s.FirstTooLarge || s.Next != 0 {
		t.Fatalf("%+v, want nothing and FirstTooLarge", s)
	}
	got, s := b.read(0, ReadOptions{MaxBytes: 500, Upper: 2, MinOne: true})
	if _, last := span(t, got); last != 0 || s.Next != 1 {
		t.Fatalf("got up to %d, next %d: MinOne is exactly one batch", last, s.Next)
	}
}

func TestReadOutsideIsOutOfRange(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	b.fill(5, 10)
	if err := b.log.SetStartOffset(4); err != nil {
		t.Fatal(err)
	}
	for _, at := range []kafka.Offset{-1, 3, 11} {
		if _, err := b.log.Read(at, ReadOptions{MaxBytes: 100, Upper: 100}); !errors.Is(err, ErrOffsetOutOfRange) {
			t.Fatalf("offset %d: %v", at, err)
		}
	}
	for _, at := range []kafka.Offset{4, 10} {
		if _, err := b.log.Read(at, ReadOptions{Upper: 100}); err != nil {
			t.Fatalf("offset %d: %v", at, err)
		}
	}
}

func TestRollByTimeIsByRecordTimestamps(t *testing.T) {
	b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentMS = 1000 })
	for _, ts := range []int64{5000, 5500, 6000, 6001, 6500, 100} {
		b.append(plain(1, 10, ts), 0)
	}
	var bases []kafka.Offset
	for _, s := range b.log.Segments() {
		bases = append(bases, s.Base)
	}
	if fmt.Sprint(bases) != "[0 3]" {
		t.Fatalf("bases %v, want [0 3]: the first batch's timestamp counts, not the clock", bases)
	}
}

func TestRollByIndexSizeAndOffsetDistance(t *testing.T) {
	b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentIndexBytes, o.Config.IndexIntervalBytes = 80, 0 })
	b.fill(40, 10)
	if n := len(b.log.Segments()); n < 4 {
		t.Fatalf("%d segments: a full index must roll", n)
	}
	far := plain(1, 10, 0)
	far.Assign(b.log.EndOffset()+1<<32, 0)
	a := b.info(far)
	a.Origin = OriginReplication
	if _, err := b.log.Append(far, 0, a); err != nil {
		t.Fatal(err)
	}
	if s := b.log.Segments(); s[len(s)-1].Base != far.BaseOffset() {
		t.Fatalf("active base %d, want %d: offsets must fit into the index", s[len(s)-1].Base, far.BaseOffset())
	}
	b.all(1000)
	b.reopen(false)
	b.all(1000)
}

func TestSegmentsTellRetentionBothTimes(t *testing.T) { // LOG-19
	b := newBench(t, vfs.NewMem(), nil)
	const year2200 = 7_258_118_400_000
	b.append(plain(1, 10, year2200), 0)
	b.clock.Advance(time.Hour)
	b.append(plain(1, 10, 5), 0)
	want := clock.Millis(b.clock.Now())
	if err := b.log.Roll(); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Hour)
	s := b.log.Segments()[0]
	if s.MaxTimestamp != year2200 || s.LastModified.UnixMilli() != want || s.Next != 2 || s.Active {
		t.Fatalf("%+v: want both the record's and the broker's time", s)
	}
}

func TestDeleteOldestWaitsForReaders(t *testing.T) {
	b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentBytes = 1000 })
	b.fill(60, 40)
	want := b.all(1 << 20)[:2000]
	s, err := b.log.Read(0, ReadOptions{MaxBytes: 900, Upper: 200})
	if err != nil {
		t.Fatal(err)
	}
	n := len(b.log.Segments()) - 1
	if err := b.log.DeleteOldest(n+1, "test"); err == nil {
		t.Fatal("the active segment was deleted")
	}
	if err := b.log.DeleteOldest(n, "test"); err != nil {
		t.Fatal(err)
	}
	if start := b.log.StartOffset(); start != b.log.Segments()[0].Base || start == 0 {
		t.Fatalf("start %d", start)
	}
	if !strings.Contains(b.names(), ".log.deleted") {
		t.Fatalf("files %s", b.names())
	}
	b.clock.Advance(time.Minute)
	if strings.Contains(b.names(), ".deleted") {
		t.Fatalf("files %s: file.delete.delay.ms has passed", b.names())
	}
	got, err := s.Range.ReadAll(nil)
	if err != nil || !bytes.Equal(got, want[:len(got)]) {
		t.Fatalf("a range in flight lost its bytes: %v", err)
	}
	s.Range.Release()
	if open := b.opts.Files.Open(); open > 1 {
		t.Fatalf("%d files open after the last reader left", open)
	}
}

func TestTruncateKeepsRangesInFlight(t *testing.T) {
	b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentBytes, o.Config.IndexIntervalBytes = 4000, 200 })
	b.fill(100, 40)
	for _, to := range []kafka.Offset{199, 190, 187, 101, 100, 99, 54, 3} {
		end := b.log.EndOffset()
		from := max(to-6, 0)
		s, err := b.log.Read(from, ReadOptions{MaxBytes: 1 << 20, Upper: end})
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.Range.ReadAll(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.log.Truncate(to); err != nil {
			t.Fatal(err)
		}
		if got, want := b.log.EndOffset(), to&^1; got != want {
			t.Fatalf("truncate to %d: end %d, want %d", to, got, want)
		}
		b.append(plain(2, 77, 1), 0)
		if after, err := s.Range.ReadAll(nil); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("truncate to %d changed bytes that were promised: %v", to, err)
		}
		s.Range.Release()
		first, last := span(t, b.all(500))
		if first != 0 || last+1 != b.log.EndOffset() {
			t.Fatalf("after %d: read %d to %d", to, first, last)
		}
	}
	b.reopen(false)
	span(t, b.all(500))
}

func TestTruncateFullyStartsAt(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	b.fill(10, 10)
	if err := b.log.TruncateFullyAndStartAt(1000); err != nil {
		t.Fatal(err)
	}
	if b.log.StartOffset() != 1000 || b.log.EndOffset() != 1000 || b.log.LatestEpoch() != kafka.NoLeaderEpoch {
		t.Fatalf("start %d end %d", b.log.StartOffset(), b.log.EndOffset())
	}
	b.fill(3, 10)
	b.reopen(false)
	if b.log.StartOffset() != 1000 || b.log.EndOffset() != 1006 {
		t.Fatalf("start %d end %d after reopening", b.log.StartOffset(), b.log.EndOffset())
	}
}

func TestDeleteFreesTheName(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	b.fill(3, 10)
	if err := b.log.Delete(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.fs.Stat(b.opts.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v", err)
	}
	if _, err := b.log.Append(plain(1, 1, 1), 0, AppendInfo{}); !errors.Is(err, ErrClosed) {
		t.Fatalf("append to a deleted log: %v", err)
	}
	list, _ := b.fs.ReadDir("/data")
	if len(list) != 0 {
		t.Fatalf("left behind: %v", list)
	}
	b.open(false)
	if b.log.EndOffset() != 0 {
		t.Fatal("the new log has the old one's data")
	}
}

func TestTopicIDMustMatch(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	b.fill(1, 10)
	if err := b.log.Close(true); err != nil {
		t.Fatal(err)
	}
	o := b.opts
	o.TopicID = kafka.TopicID{2}
	if _, err := Open(context.Background(), o); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("opened the log of another topic: %v", err)
	}
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
