package commitlog

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// onDisk makes options of a log on the real disk.
func onDisk(t testing.TB, o *Options) {
	o.FS, o.Dir = vfs.OS(), t.TempDir()+"/t-0"
}

func TestAppendCostsOneWriteAndNoAllocation(t *testing.T) {
	count := vfs.NewCounting(vfs.OS())
	b := newBench(t, count, func(o *Options) { o.Dir = t.TempDir() + "/t-0" })
	idempotent := batchOf(7, 0, 0, 5)
	batches := map[string]record.Batch{"plain": plain(10, 100, 5), "large": plain(1, 64<<10, 5)}
	for name, batch := range batches {
		info := b.info(batch)
		b.append(batch, 0)
		before := count.Counts()
		const runs = 200
		allocs := testing.AllocsPerRun(runs-1, func() {
			if _, err := b.log.Append(batch, 0, info); err != nil {
				t.Fatal(err)
			}
		})
		did := count.Counts().Sub(before)
		if allocs != 0 || did.Of(vfs.OpWrite) != runs || total(did) != runs {
			t.Errorf("%s: %v allocations, operations %v for %d appends: want 0 and one write each", name, allocs, did.Ops, runs)
		}
	}
	seq := int32(0)
	b.append(idempotent, 0)
	info := b.info(idempotent)
	allocs := testing.AllocsPerRun(100, func() {
		seq++
		next := sequenced(idempotent, seq)
		if _, err := b.log.Append(next, 0, info); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("idempotent: %v allocations an append, want 0", allocs)
	}
}

// total is the number of operations on the disk.
func total(c vfs.Counts) (n int64) {
	for _, of := range c.Ops {
		n += of
	}
	return n
}

func TestTailFetchCostsNothing(t *testing.T) {
	count := vfs.NewCounting(vfs.OS())
	b := newBench(t, count, func(o *Options) { o.Dir = t.TempDir() + "/t-0" })
	b.fill(100, 1000)
	batch := plain(1, 1000, 1)
	b.append(batch, 0)
	at := b.log.EndOffset() - 1
	before := count.Counts()
	allocs := testing.AllocsPerRun(100, func() {
		s, err := b.log.Read(at, ReadOptions{MaxBytes: 1 << 20, Upper: at + 1})
		if err != nil || s.Range == nil {
			t.Fatal(err)
		}
		s.Range.Release()
	})
	if did := count.Counts().Sub(before); allocs != 0 || total(did) != 0 {
		t.Fatalf("%v allocations, operations %v; want none before the range is sent", allocs, did.Ops)
	}
}

func TestSequentialFetchCostsOneRead(t *testing.T) {
	count := vfs.NewCounting(vfs.OS())
	b := newBench(t, count, func(o *Options) {
		o.Dir, o.Config.SegmentBytes = t.TempDir()+"/t-0", 16<<20
	})
	b.fill(300, 32<<10) // 64 KiB batches, two segments
	b.reopen(true)
	var at kafka.Offset
	fetch := func() {
		s, err := b.log.Read(at, ReadOptions{MaxBytes: 1 << 20, Upper: b.log.EndOffset(), MinOne: true})
		if err != nil || s.Range == nil {
			t.Fatalf("at %d: %+v %v", at, s, err)
		}
		s.Range.Release()
		at = s.Next
	}
	fetch()
	before := count.Counts()
	allocs := testing.AllocsPerRun(10, fetch)
	did := count.Counts().Sub(before)
	if allocs != 0 && !raceDetector || did.Of(vfs.OpRead) > 11 || total(did) != did.Of(vfs.OpRead) {
		t.Fatalf("%v allocations, operations %v for 11 fetches: want one read each at most", allocs, did.Ops)
	}
}

func TestIdleLogHoldsNoFileAndLittleMemory(t *testing.T) {
	fsys := vfs.NewMem()
	reg := metrics.NewRegistry()
	files, producers := NewFiles(0, reg), NewProducerBudget(0, reg)
	conf := DefaultConfig()
	const logs = 2000
	open := func(i int, clean bool) *Log {
		l, err := Open(context.Background(), Options{FS: fsys, Dir: fmt.Sprintf("/d/t-%d", i), TP: kafka.TopicPartition{Topic: "t", Partition: int32(i)},
			TopicID: kafka.TopicID{1}, Files: files, Producers: producers, Config: conf, Metrics: reg, Clean: clean,
			RecoveryPoint: kafka.NoOffset, StartOffset: kafka.NoOffset})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for i := range logs {
		l := open(i, false)
		batch := plain(1, 100, 5)
		if _, err := l.Append(batch, 0, AppendInfo{MaxTimestamp: 5, LogAppendTimeMS: -1}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(true); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := make([]*Log, logs)
	for i := range all {
		all[i] = open(i, true)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := int64(after.HeapAlloc-before.HeapAlloc) / logs
	t.Logf("%d bytes an idle log that holds data", each)
	if each > 4096 || files.Open() != 0 {
		t.Fatalf("an idle log costs %d bytes, %d files are open; want at most 4096 and none", each, files.Open())
	}
	for _, l := range all {
		if err := l.Close(true); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenFilesStayWithinTheLimit(t *testing.T) { // LOG-17
	count := vfs.NewCounting(vfs.NewMem())
	files := NewFiles(8, nil)
	var logs []*Log
	for i := range 50 {
		l, err := Open(context.Background(), Options{FS: count, Dir: fmt.Sprintf("/d/t-%d", i), TP: kafka.TopicPartition{Topic: "t", Partition: int32(i)}, Files: files})
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	for round := range 3 {
		for i, l := range logs {
			if _, err := l.Append(plain(1, 10, 5), 0, AppendInfo{}); err != nil {
				t.Fatal(err)
			}
			s, err := l.Read(0, ReadOptions{MaxBytes: 1000, Upper: 100})
			if err != nil || s.Next != kafka.Offset(round+1) {
				t.Fatalf("log %d: %+v %v", i, s, err)
			}
			s.Range.Release()
		}
	}
	if n := len(count.OpenFiles()); n > 8 || files.Open() != n {
		t.Fatalf("%d files open, %d counted, the limit is 8", n, files.Open())
	}
	for _, l := range logs {
		if err := l.Close(true); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(count.OpenFiles()); n != 0 {
		t.Fatalf("%d files open after closing: %v", n, count.OpenFiles())
	}
}

func TestRangeGoesToASocketUnharmed(t *testing.T) {
	b := newBench(t, vfs.OS(), func(o *Options) { onDisk(t, o) })
	b.fill(50, 2000)
	want := b.all(1 << 20)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	got := make(chan []byte)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			close(got)
			return
		}
		defer conn.Close()
		all, _ := io.ReadAll(conn)
		got <- all
	}()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for at := kafka.Offset(0); at < b.log.EndOffset(); {
		s, err := b.log.Read(at, ReadOptions{MaxBytes: 30_000, Upper: b.log.EndOffset()})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.Range.WriteTo(conn); err != nil || n != s.Range.Len() {
			t.Fatalf("sent %d of %d: %v", n, s.Range.Len(), err)
		}
		s.Range.Release()
		at = s.Next
	}
	conn.Close()
	if string(<-got) != string(want) {
		t.Fatal("other bytes came out of the socket than went into the log")
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			l := newBench(b, vfs.OS(), func(o *Options) { onDisk(b, o) })
			batch := plain(1, size-record.HeaderSize-10, 5)
			info := l.info(batch)
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.log.Append(batch, 0, info); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkThousandLogs(b *testing.B) {
	reg := metrics.NewRegistry()
	files, producers, conf := NewFiles(0, reg), NewProducerBudget(0, reg), DefaultConfig()
	options := func(dir string, i int) Options {
		return Options{FS: vfs.OS(), Dir: fmt.Sprintf("%s/t-%d", dir, i), TP: kafka.TopicPartition{Topic: "t", Partition: int32(i)},
			TopicID: kafka.TopicID{1}, Files: files, Producers: producers, Config: conf, Metrics: reg,
			RecoveryPoint: kafka.NoOffset, StartOffset: kafka.NoOffset}
	}
	for b.Loop() {
		dir := b.TempDir()
		var logs []*Log
		began := time.Now()
		for i := range 1000 {
			l, err := Open(context.Background(), options(dir, i))
			if err != nil {
				b.Fatal(err)
			}
			logs = append(logs, l)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/create")
		for _, l := range logs {
			if err := l.AssignEpoch(0, 0); err != nil {
				b.Fatal(err)
			}
			if _, err := l.Append(plain(1, 100, 5), 0, AppendInfo{MaxTimestamp: 5, LogAppendTimeMS: -1}); err != nil {
				b.Fatal(err)
			}
			if err := l.Close(true); err != nil {
				b.Fatal(err)
			}
		}
		began = time.Now()
		for i := range 1000 {
			o := options(dir, i)
			o.Clean = true
			l, err := Open(context.Background(), o)
			if err != nil {
				b.Fatal(err)
			}
			logs[i] = l
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/open")
		for _, l := range logs {
			_ = l.Close(true)
		}
	}
}
