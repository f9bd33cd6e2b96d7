package commitlog

import (
	"bytes"
	"errors"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

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
