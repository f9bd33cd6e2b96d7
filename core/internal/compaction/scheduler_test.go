package compaction

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// bench is a broker's partitions under a Scheduler.
type bench struct {
	t     *testing.T
	fs    vfs.FS
	clock *clock.Manual
	dirs  *logdir.Set
	purg  *purgatory.Purgatory
	topic config.Topic
	all   []*partition.Partition
	s     *Scheduler
	reg   *metrics.Registry
}

func newBench(t *testing.T, fsys vfs.FS, topics ...string) *bench {
	t.Helper()
	b := &bench{t: t, fs: fsys, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), topic: config.Topic{
		CleanupCompact: true, MaxMessageBytes: 1 << 20, MinInsyncReplicas: 1, RetentionMS: -1, RetentionBytes: -1,
		SegmentBytes: 1000, SegmentMS: math.MaxInt64, SegmentIndexBytes: 1 << 20, IndexIntervalBytes: 300,
		FlushMessages: math.MaxInt64, FlushMS: math.MaxInt64, TimestampBeforeMaxMS: math.MaxInt64, TimestampAfterMaxMS: math.MaxInt64,
		MaxCompactionLagMS: math.MaxInt64, DeleteRetentionMS: 1000, MinCleanableDirtyRatio: 0.5,
	}}
	b.start(topics...)
	t.Cleanup(func() { b.stop() })
	return b
}

// start opens the directory and the partitions.
func (b *bench) start(topics ...string) {
	b.t.Helper()
	var err error
	b.dirs, err = logdir.Open(logdir.Options{FS: b.fs, Dirs: []string{"/d"}, ClusterID: "c", NodeID: 1, Clock: b.clock, ReserveBytes: -1})
	if err != nil {
		b.t.Fatal(err)
	}
	b.purg = purgatory.New(purgatory.Options{Clock: b.clock})
	b.reg = metrics.NewRegistry()
	parts := &partition.Parts{Clock: b.clock, Purgatory: b.purg, Log: slog.New(slog.DiscardHandler), Metrics: metrics.NewRegistry()}
	b.all = nil
	for _, name := range topics {
		b.all = append(b.all, b.open(parts, name))
	}
	b.s = New(Options{
		Partitions: func(yield func(*partition.Partition) bool) {
			for _, p := range b.all {
				if !yield(p) {
					return
				}
			}
		},
		Config: func() Config {
			return Config{Threads: 2, MapBytes: 1 << 20, MapLoad: 0.9, BufferBytes: 1 << 18, BytesPerSecond: math.Inf(1), Backoff: time.Second}
		},
		Clock: b.clock, Metrics: b.reg,
	})
}

func (b *bench) open(parts *partition.Parts, name string) *partition.Partition {
	b.t.Helper()
	topic := b.topic
	c := partition.NewConfig(&topic, 1<<40)
	tp, dir := kafka.TopicPartition{Topic: name}, b.dirs.Dirs()[0]
	log, err := commitlog.Open(context.Background(), commitlog.Options{
		FS: b.fs, Dir: dir.PartitionPath(tp), TP: tp, TopicID: kafka.TopicID{1}, Clock: b.clock, Config: c.Log,
		RecoveryPoint: kafka.NoOffset, StartOffset: kafka.NoOffset,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	p := partition.New(parts, tp, kafka.TopicID{1}, dir, log, c, kafka.NoOffset)
	if err := p.SetRole(partition.Role{Leading: true, Leader: 1, Epoch: 6, Replicas: []kafka.BrokerID{1}, ISR: []kafka.BrokerID{1}}); err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) stop() {
	b.s.Close()
	b.purg.Close()
	for _, p := range b.all {
		_ = p.Close(true)
	}
	_ = b.dirs.Close(true, 0)
}

// fill appends n records of few keys to the i-th partition.
func (b *bench) fill(i, n int) {
	b.t.Helper()
	for k := range n {
		builder := record.NewBuilder(record.PlainOptions(record.None))
		builder.Append(clock.Millis(b.clock.Now()), []byte(fmt.Sprint("k", k%5)), bytes.Repeat([]byte("v"), 100), nil)
		if out := b.all[i].Append(&partition.Append{Batch: builder.Bytes(), Acks: 1, Version: 9}); out.Code != kafka.None {
			b.t.Fatal(out.Code)
		}
	}
}

// count is the records of the i-th partition.
func (b *bench) count(i int) (n int) {
	b.t.Helper()
	all, err := batches(b.all[i].Log())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, x := range all {
		n += int(x.Count())
	}
	return n
}

func (b *bench) checkpoint() string {
	data, err := vfs.ReadFile(b.fs, "/d/"+logdir.CompactedFile, 1<<20)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestRoundsFollowTheDirtyRatio: a log is compacted when it is worth it, no sooner, and
// the checkpoint in Kafka's format tells how far.
func TestRoundsFollowTheDirtyRatio(t *testing.T) {
	b := newBench(t, vfs.NewMem(), "t", "u")
	b.s.Start()
	b.clock.Advance(time.Second)
	b.fill(0, 50)
	before := b.count(0)
	b.clock.Advance(time.Second)
	after := b.count(0)
	if before != 50 || after >= 20 {
		t.Fatalf("%d records, after a round %d", before, after)
	}
	segments := b.all[0].Log().Segments()
	active := segments[len(segments)-1].Base
	if got, want := b.checkpoint(), fmt.Sprintf("0\n1\nt 0 %d\n", active); got != want {
		t.Fatalf("checkpoint %q, want %q", got, want)
	}
	passes := b.s.metrics.passes.Load()
	b.clock.Advance(10 * time.Second)
	if got := b.s.metrics.passes.Load(); got != passes {
		t.Fatalf("%d passes over a log that is clean", got-passes)
	}
	b.fill(1, 50)
	b.s.Close()
	b.clock.Advance(time.Minute)
	if b.count(1) != 50 {
		t.Fatal("a round ran after Close")
	}
}

// TestLagsBoundThePass: what is younger than min.compaction.lag.ms stays, what is older
// than max.compaction.lag.ms is compacted however little it is.
func TestLagsBoundThePass(t *testing.T) {
	b := newBench(t, vfs.NewMem(), "t")
	topic := b.topic
	topic.MinCompactionLagMS, topic.MinCleanableDirtyRatio = 5000, 0.99
	b.all[0].SetConfig(partition.NewConfig(&topic, 1<<40))
	b.fill(0, 50)
	b.clock.Advance(4 * time.Second)
	if b.s.Run() != 0 || b.count(0) != 50 {
		t.Fatal("compacted before min.compaction.lag.ms")
	}
	b.clock.Advance(2 * time.Second)
	if b.s.Run() != 1 || b.count(0) == 50 {
		t.Fatal("not compacted after min.compaction.lag.ms")
	}
	b.fill(0, 20)
	b.clock.Advance(time.Minute)
	if n := b.s.Run(); n != 0 {
		t.Fatalf("%d passes below the dirty ratio", n)
	}
	topic.MaxCompactionLagMS = 30_000
	b.all[0].SetConfig(partition.NewConfig(&topic, 1<<40))
	if n := b.s.Run(); n != 1 {
		t.Fatalf("%d passes after max.compaction.lag.ms", n)
	}
}

// TestBadSegmentStopsOneLog: damage in one log must not keep others from being
// compacted, and a metric must name it.
func TestBadSegmentStopsOneLog(t *testing.T) {
	mem := vfs.NewMem()
	b := newBench(t, mem, "bad", "good")
	b.fill(0, 50)
	b.fill(1, 50)
	f, err := mem.OpenFile("/d/bad-0/00000000000000000000.log", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n := b.s.Run(); n != 1 || b.count(1) == 50 {
		t.Fatalf("%d logs were compacted, the good one has %d records", n, b.count(1))
	}
	if b.all[0].Offline() != nil {
		t.Fatal("the directory went offline")
	}
	read := b.s.metrics.read.Load()
	if b.s.Run() != 0 || b.s.metrics.read.Load() != read {
		t.Fatal("the bad log was tried again")
	}
	if st, ok := b.s.Status(b.all[0]); !ok || st.Failed == nil || st.Done != kafka.NoOffset || st.Dirty == 0 {
		t.Errorf("status of the bad log: %+v, %v", st, ok)
	}
	if st, ok := b.s.Status(b.all[1]); !ok || st.Failed != nil || st.Done == kafka.NoOffset || st.Dirty != 0 || st.Clean == 0 {
		t.Errorf("status of the good log: %+v, %v", st, ok)
	}
	if got := b.failedSeries(); got != "[{[{partition 0} {topic bad}] 1 0 0 []}] 1" && got != "[{[{topic bad} {partition 0}] 1 0 0 []}] 1" {
		t.Errorf("metrics of failed logs: %s", got)
	}
	gone := b.all[0] // its topic is deleted
	b.all = b.all[1:]
	if err := gone.Delete(); err != nil {
		t.Fatal(err)
	}
	b.s.Run()
	for p := range b.s.Failed {
		t.Errorf("%s is gone and still counts as failed", p.TopicPartition())
	}
	if got := b.failedSeries(); !strings.HasSuffix(got, " 0 0 0 []}] 0") {
		t.Errorf("metrics after its topic was deleted: %s", got)
	}
}

// failedSeries is what the metrics say of logs that can't be compacted: the series by
// name, and how many there are.
func (b *bench) failedSeries() string {
	named, count := "", ""
	for _, family := range b.reg.Snapshot() {
		switch family.Name {
		case "mortise_compaction_failed":
			named = fmt.Sprint(family.Series)
		case "mortise_compaction_failed_logs":
			count = fmt.Sprint(family.Series[0].Value)
		}
	}
	return named + " " + count
}

// TestCheckpointBeyondTheLogIsReset: otherwise what is written there would count as
// compacted although its keys were never looked at.
func TestCheckpointBeyondTheLogIsReset(t *testing.T) {
	b := newBench(t, vfs.NewMem(), "t")
	b.fill(0, 10)
	if err := b.s.done.set(b.all[0], b.all[0].Log(), 1000); err != nil {
		t.Fatal(err)
	}
	b.stop()
	b.start("t")
	b.s.Start()
	if got := b.checkpoint(); got != "0\n1\nt 0 0\n" {
		t.Fatalf("checkpoint %q", got)
	}
	b.fill(0, 1100)
	b.s.Run()
	if n := b.count(0); n > 20 {
		t.Fatalf("%d records of 5 keys stay", n)
	}
}

// TestReadersGoOnWhileSegmentsAreReplaced fetches all the time while logs are filled and
// compacted (COMP-05). A reader must see rising offsets and whole batches, and the last
// value of every key at the end.
func TestReadersGoOnWhileSegmentsAreReplaced(t *testing.T) {
	b := newBench(t, vfs.NewMem(), "t")
	log := b.all[0].Log()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				if _, err := batches(log); err != nil {
					t.Error(err)
					return
				}
				if _, _, err := log.OffsetForTimestamp(clock.Millis(b.clock.Now())-500, log.EndOffset()); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 25 {
		b.fill(0, 40)
		b.clock.Advance(200 * time.Millisecond)
		b.s.Run()
		if _, err := log.Sync(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	if n := b.count(0); n > 30 {
		t.Errorf("%d records of 5 keys stay", n)
	}
}
