package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// newDir is a folder on a memory disk.
func newDir(t testing.TB) *Dir {
	t.Helper()
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll("/p", 0o755); err != nil {
		t.Fatal(err)
	}
	d := NewDir(fsys, "/p", NewFiles(0, nil), slog.New(slog.DiscardHandler))
	d.IndexInterval.Store(100)
	return d
}

// batchAt is a batch of n records at an offset.
func batchAt(base kafka.Offset, n int, ts int64, epoch kafka.LeaderEpoch) record.Batch {
	w := record.NewBuilder(record.PlainOptions(record.None))
	for i := range n {
		w.Append(ts+int64(i), nil, bytes.Repeat([]byte{'v'}, 40), nil)
	}
	b := w.Bytes()
	b.Assign(base, epoch)
	return b
}

// filled is a segment of n batches of two records.
func filled(t testing.TB, n int) *Segment {
	t.Helper()
	s := New(newDir(t), 100, 0)
	for i := range n {
		if err := s.Append(batchAt(s.Next(), 2, int64(1000+i*3), 0), 0); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name string
		base kafka.Offset
		ext  Ext
		mark string
		ok   bool
	}{
		{"00000000000000000042.log", 42, Log, "", true},
		{"09223372036854775807.timeindex", 1<<63 - 1, TimeIndex, "", true},
		{"00000000000000000042.txnindex.deleted", 42, TxnIndex, Deleted, true},
		{"00000000000000000042.index.swap", 42, Index, Swap, true},
		{"00000000000000000042.log.cleaned", 42, Log, Cleaned, true},
		{"99999999999999999999.log", 0, "", "", false},
		{"-0000000000000000042.log", 0, "", "", false},
		{"0000000000000000042.log", 0, "", "", false},
		{"00000000000000000042.checkpoint", 0, "", "", false},
		{"partition.metadata", 0, "", "", false},
	} {
		base, ext, mark, ok := ParseName(c.name)
		if ok != c.ok || ok && (base != c.base || ext != c.ext || mark != c.mark) {
			t.Errorf("%s: %d %s %s %v", c.name, base, ext, mark, ok)
		}
		if c.ok && Name(c.base, c.ext)+c.mark != c.name {
			t.Errorf("%s became %s", c.name, Name(c.base, c.ext)+c.mark)
		}
	}
}

func TestIndexEntriesAreKafkas(t *testing.T) {
	s := filled(t, 4)
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	size := int64(len(batchAt(0, 2, 0, 0)))
	want := func(ext Ext, b []byte) {
		got, err := vfs.ReadFile(s.dir.FS, s.Path(ext), 1000)
		if err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s\n%x, want\n%x (%v)", ext, got, b, err)
		}
	}
	var x offsetIndex // the first batch has none; each other comes after more than 100 bytes
	var y timeIndex
	for i := int64(1); i < 4; i++ {
		x = x.add(2*i+1, i*size)
		y = y.add(1000+i*3+1, 2*i+1)
	}
	want(Index, x)
	want(TimeIndex, y)
}

func TestRangeOutlivesItsSegment(t *testing.T) {
	s := filled(t, 5)
	f, err := s.Read(Request{From: 102, Upper: 110, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MarkDeleted(); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveMarked(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(Request{From: 102, Upper: 110, MaxBytes: 1 << 20}); !errors.Is(err, ErrDeleted) {
		t.Fatalf("read from a deleted segment: %v", err)
	}
	var out bytes.Buffer
	if n, err := f.Range.WriteTo(&out); err != nil || n != f.Range.Len() || out.Len() != int(n) {
		t.Fatalf("sent %d of %d: %v", n, f.Range.Len(), err)
	}
	if b, _, err := record.Next(out.Bytes()); err != nil || b.BaseOffset() != 102 {
		t.Fatalf("%v", err)
	}
	f.Range.Release()
	if n := s.dir.Files.Open(); n != 0 {
		t.Fatalf("%d files open after the last reader", n)
	}
}

func TestShortFileIsNoticed(t *testing.T) { // protocol 4.2, 3
	s := filled(t, 5)
	f, err := s.Read(Request{From: 100, Upper: 110, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Range.Release()
	h := s.handle.Load()
	if err := h.file.Truncate(f.Range.Len() - 1); err != nil { // behind our back
		t.Fatal(err)
	}
	if _, err := f.Range.WriteTo(&bytes.Buffer{}); !errors.Is(err, ErrTruncated) {
		t.Fatalf("a short range was sent: %v", err)
	}
	if _, err := f.Range.ReadAll(nil); !errors.Is(err, ErrTruncated) {
		t.Fatalf("a short range was read: %v", err)
	}
}

func TestAbortedTransactions(t *testing.T) { // protocol 3.3, 28
	s := filled(t, 3)
	for _, a := range []Aborted{{1, 100, 104, 105}, {2, 101, 108, 109}, {3, 110, 112, 120}} {
		if err := s.AppendAborted(a); err != nil {
			t.Fatal(err)
		}
	}
	again := Existing(s.dir, s.Base(), s.Next(), s.Size(), s.Modified(), true)
	for _, seg := range []*Segment{s, again} {
		got, done, err := seg.AbortedIn(nil, 105, 111)
		if err != nil || !done || len(got) != 2 || got[0].ProducerID != 2 || got[1].ProducerID != 3 {
			t.Fatalf("%+v %v %v", got, done, err)
		}
	}
	raw, err := vfs.ReadFile(s.dir.FS, s.Path(TxnIndex), 1000)
	if err != nil || len(raw) != 3*abortedBytes || binary.BigEndian.Uint64(raw[2:]) != 1 {
		t.Fatalf("%x %v", raw, err)
	}
}

// FuzzIndex checks that whatever is in an index file, lookups find what a walk
// without index finds.
func FuzzIndex(f *testing.F) {
	good := filled(f, 20)
	if err := good.Seal(); err != nil {
		f.Fatal(err)
	}
	x, err := vfs.ReadFile(good.dir.FS, good.Path(Index), 10_000)
	if err != nil {
		f.Fatal(err)
	}
	y, err := vfs.ReadFile(good.dir.FS, good.Path(TimeIndex), 10_000)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(x, y)
	f.Add([]byte{}, []byte{})
	f.Add(append(bytes.Clone(x), make([]byte, 80)...), append(bytes.Clone(y), make([]byte, 120)...))
	f.Add([]byte("\x7f\xff\xff\xff\x7f\xff\xff\xff"), []byte("\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, index, times []byte) {
		s := filled(t, 20)
		for ext, b := range map[Ext][]byte{Index: index, TimeIndex: times} {
			if err := s.saveIndex(ext, b, -1); err != nil {
				t.Fatal(err)
			}
		}
		s = Existing(s.dir, s.Base(), kafka.NoOffset, s.Size(), s.Modified(), false)
		for from := kafka.Offset(100); from < 140; from++ {
			r, err := s.Read(Request{From: from, Upper: 140, MaxBytes: 500, MinOne: true})
			if err != nil {
				t.Fatalf("offset %d: %v", from, err)
			}
			if r.Range == nil || r.Next <= from {
				t.Fatalf("offset %d: found up to %d", from, r.Next)
			}
			raw, err := r.Range.ReadAll(nil)
			if err != nil || record.Batch(raw).BaseOffset() != from&^1 {
				t.Fatalf("offset %d: found %d, %v", from, record.Batch(raw).BaseOffset(), err)
			}
			r.Range.Release()
		}
	})
}

// FuzzRecoverSegment checks that recovery of any bytes keeps exactly the good
// batches at their beginning, which can be read then.
func FuzzRecoverSegment(f *testing.F) {
	var log []byte
	for i := range 4 {
		log = append(log, batchAt(100+kafka.Offset(i*2), 2, 5, 0)...)
	}
	f.Add(log, int64(100))
	f.Add(log[:len(log)-7], int64(103))
	f.Add(append(bytes.Clone(log), make([]byte, 100)...), int64(0))
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, raw []byte, from int64) {
		d := newDir(t)
		s := New(d, 100, 0)
		if err := s.saveIndex(Log, raw, -1); err != nil {
			t.Fatal(err)
		}
		s = Existing(d, 100, kafka.NoOffset, int64(len(raw)), s.Modified(), false)
		batches := 0
		r, err := s.Recover(kafka.Offset(from), func(record.Batch) error { batches++; return nil }, nil)
		if err != nil {
			t.Fatal(err)
		}
		good, next := 0, kafka.Offset(100) // the dumb twin
		for rest := raw; ; good++ {
			b, more, err := record.Next(rest)
			if err != nil || b.CheckCRC() != nil || b.BaseOffset() < next || b.LastOffset() < b.BaseOffset() || b.LastOffset()-100 > OffsetsMax {
				break
			}
			next, rest = b.NextOffset(), more
		}
		if batches != good || r.Next != next || (r.Torn == nil) != (r.Bytes == int64(len(raw))) {
			t.Fatalf("%d batches up to %d, want %d up to %d; torn: %v", batches, r.Next, good, next, r.Torn)
		}
		if len(raw) == 0 {
			return
		}
		if err := s.CutTorn(); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveIndexes(false); err != nil {
			t.Fatal(err)
		}
		again := Existing(d, 100, kafka.NoOffset, r.Bytes, s.Modified(), false)
		if err := again.Load(); err != nil || again.Next() != next {
			t.Fatalf("opened again it ends at %d, want %d: %v", again.Next(), next, err)
		}
	})
}
