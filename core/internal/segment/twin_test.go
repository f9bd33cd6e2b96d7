package segment

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// kafkaSegment is a segment that a real Kafka 4.4 wrote, with an
// index.interval.bytes of 100, and closed.
const kafkaSegment = "../../tool/testdata/kafka44-0/00000000000000000000"

// TestIndexesAreKafkasToTheByte makes the indexes of a real log, by appends and by
// recovery, and compares them with those that Kafka made.
func TestIndexesAreKafkasToTheByte(t *testing.T) {
	log, err := os.ReadFile(kafkaSegment + ".log")
	if err != nil {
		t.Fatal(err)
	}
	appended := New(newDir(t), 0, 0)
	for rest := log; len(rest) > 0; {
		var b record.Batch
		if b, rest, err = record.Next(rest); err != nil {
			t.Fatal(err)
		}
		if err := appended.Append(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := appended.Seal(); err != nil {
		t.Fatal(err)
	}
	recovered := New(newDir(t), 0, 0)
	if err := recovered.saveIndex(Log, log, -1); err != nil {
		t.Fatal(err)
	}
	recovered = Existing(recovered.dir, 0, kafka.NoOffset, int64(len(log)), recovered.Modified(), false)
	if _, err := recovered.Recover(0, func(record.Batch) error { return nil }, nil); err != nil {
		t.Fatal(err)
	}
	if err := recovered.SaveIndexes(true); err != nil {
		t.Fatal(err)
	}
	for _, ext := range []Ext{Log, Index, TimeIndex} {
		want, err := os.ReadFile(kafkaSegment + string(ext))
		if err != nil || len(want) == 0 {
			t.Fatalf("%d bytes, %v", len(want), err)
		}
		for how, s := range map[string]*Segment{"appended": appended, "recovered": recovered} {
			if got, err := vfs.ReadFile(s.dir.FS, s.Path(ext), 1<<20); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s %s:\n%x, Kafka has\n%x (%v)", how, ext, got, want, err)
			}
		}
	}
}

// span is where a batch of the twin lies.
type span struct {
	base, next kafka.Offset
	pos, size  int64
}

// twin is a segment beside a plain list of its batches.
type twin struct {
	*Segment
	rand *rand.Rand
	list []span
}

// newTwin makes a segment of n batches of one to three records, with gaps between
// some of them as compaction leaves them.
func newTwin(t *testing.T, seed uint64, n int) *twin {
	w := &twin{Segment: New(newDir(t), 1000, 0), rand: rand.New(rand.NewPCG(seed, 0))}
	w.dir.IndexInterval.Store(int64(w.rand.IntN(600)))
	for range n {
		base := w.Next()
		if w.rand.IntN(4) == 0 {
			base += kafka.Offset(w.rand.IntN(5))
		}
		b := batchAt(base, 1+w.rand.IntN(3), 5000+w.rand.Int64N(100), 0)
		w.list = append(w.list, span{base, b.NextOffset(), w.Size(), int64(len(b))})
		if err := w.Append(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// find is Read without an index.
func (w *twin) find(r Request) (pos, n int64, tooLarge bool) {
	for _, b := range w.list {
		switch {
		case b.next <= r.From:
			continue
		case b.next > r.Upper:
			return pos, n, false
		case n+b.size > r.MaxBytes && n > 0:
			return pos, n, false
		case b.size > r.MaxBytes && !r.MinOne:
			return 0, 0, true
		case b.size > r.MaxBytes:
			return b.pos, b.size, true
		case n == 0:
			pos = b.pos
		}
		n += b.size
	}
	return pos, n, false
}

// check compares one Read with the twin's.
func (w *twin) check(r Request) error {
	pos, n, tooLarge := w.find(r)
	f, err := w.Read(r)
	if err != nil {
		return err
	}
	if f.Range == nil {
		if n != 0 || f.TooLarge != tooLarge {
			return fmt.Errorf("found nothing, too large %v; want %d bytes at %d, %v", f.TooLarge, n, pos, tooLarge)
		}
		return nil
	}
	defer f.Range.Release()
	if f.Range.pos != pos || f.Range.n != n || f.TooLarge != tooLarge {
		return fmt.Errorf("%d bytes at %d, too large %v; want %d at %d, %v", f.Range.n, f.Range.pos, f.TooLarge, n, pos, tooLarge)
	}
	after, ahead := w.Next(), w.Next() // Next may point behind a gap, never into the next batch
	for _, b := range w.list {
		if b.pos+b.size == pos+n {
			after = b.next
		}
		if b.pos == pos+n {
			ahead = b.base
		}
	}
	if f.Next < after || f.Next > max(ahead, after) {
		return fmt.Errorf("next is %d, want %d to %d", f.Next, after, ahead)
	}
	return nil
}

// TestReadsAgreeWithAWalk asks for random parts of random segments: active ones with
// all in memory, and ones whose index comes from the disk.
func TestReadsAgreeWithAWalk(t *testing.T) {
	for seed := range uint64(60) {
		w := newTwin(t, seed, 5+int(seed))
		if seed%2 == 1 {
			if err := w.Seal(); err != nil {
				t.Fatal(err)
			}
			end := w.Next()
			w.Segment = Existing(w.dir, w.Base(), end, w.Size(), w.Modified(), false)
			w.SetNext(end)
		}
		for range 150 {
			from := w.Base() + kafka.Offset(w.rand.Int64N(int64(w.Next()-w.Base())))
			r := Request{From: from, Upper: from + 1 + kafka.Offset(w.rand.Int64N(int64(w.Next()-from)+3)),
				MaxBytes: w.rand.Int64N(1500), MinOne: w.rand.IntN(2) == 0}
			if err := w.check(r); err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, r, err)
			}
		}
	}
}

// TestTruncationLeavesRangesAlone cuts segments under a reader, and writes other
// batches where the old ones were.
func TestTruncationLeavesRangesAlone(t *testing.T) {
	for seed := range uint64(30) {
		w := newTwin(t, seed, 12)
		f, err := w.Read(Request{From: w.Base(), Upper: w.Next(), MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		before, err := f.Range.ReadAll(nil)
		if err != nil {
			t.Fatal(err)
		}
		cut := w.rand.IntN(len(w.list))
		if err := w.Truncate(w.list[cut].base); err != nil {
			t.Fatal(err)
		}
		if w.list = w.list[:cut]; w.Size() != f.Range.n && cut > 0 && w.Size() != w.list[cut-1].pos+w.list[cut-1].size {
			t.Fatalf("seed %d: %d bytes after a cut before batch %d", seed, w.Size(), cut)
		}
		for range 5 {
			b := batchAt(w.Next(), 2, 9000, 1)
			w.list = append(w.list, span{w.Next(), b.NextOffset(), w.Size(), int64(len(b))})
			if err := w.Append(b, 0); err != nil {
				t.Fatal(err)
			}
		}
		if after, err := f.Range.ReadAll(nil); err != nil || !bytes.Equal(after, before) {
			t.Fatalf("seed %d: a range in flight changed with the cut before batch %d: %v", seed, cut, err)
		}
		f.Range.Release()
		for from := w.Base(); from < w.Next(); from++ {
			if err := w.check(Request{From: from, Upper: w.Next(), MaxBytes: 400, MinOne: true}); err != nil {
				t.Fatalf("seed %d, offset %d after a cut before batch %d: %v", seed, from, cut, err)
			}
		}
		if n := w.dir.Files.Open(); n != 1 {
			t.Fatalf("seed %d: %d files open", seed, n)
		}
	}
}
