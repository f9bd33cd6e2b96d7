package partition

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// rig is one partition on a disk of its own, with a clock that stands still.
type rig struct {
	t     testing.TB
	clock *clock.Manual
	fs    vfs.FS
	dirs  *logdir.Set
	purg  *purgatory.Purgatory
	topic config.Topic
	p     *Partition
}

// topicConfig is Kafka's defaults, as far as a partition looks at them.
func topicConfig() config.Topic {
	return config.Topic{
		CleanupDelete: true, MaxMessageBytes: 1 << 20, MinInsyncReplicas: 1,
		SegmentBytes: 1 << 20, SegmentMS: 1 << 40, SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		FlushMessages: math.MaxInt64, FlushMS: math.MaxInt64, RetentionMS: -1, RetentionBytes: -1,
		TimestampBeforeMaxMS: math.MaxInt64, TimestampAfterMaxMS: math.MaxInt64,
	}
}

// newRig makes a partition without a role on fsys.
func newRig(t testing.TB, fsys vfs.FS, change func(*config.Topic)) *rig {
	t.Helper()
	r := &rig{t: t, fs: fsys, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), topic: topicConfig()}
	if change != nil {
		change(&r.topic)
	}
	dirs, err := logdir.Open(logdir.Options{FS: fsys, Dirs: []string{path.Join(t.TempDir(), "data")}, ClusterID: "c", NodeID: 1, Clock: r.clock, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	r.dirs = dirs
	r.purg = purgatory.New(purgatory.Options{Clock: r.clock})
	tp, id, dir := kafka.TopicPartition{Topic: "t"}, kafka.NewTopicID(), dirs.Dirs()[0]
	c := NewConfig(&r.topic, 86_400_000)
	log, err := commitlog.Open(context.Background(), commitlog.Options{
		FS: fsys, Dir: dir.PartitionPath(tp), TP: tp, TopicID: id, Clock: r.clock, Config: c.Log,
		RecoveryPoint: kafka.NoOffset, StartOffset: kafka.NoOffset,
	})
	if err != nil {
		t.Fatal(err)
	}
	parts := &Parts{Clock: r.clock, Purgatory: r.purg, Log: slog.New(slog.DiscardHandler), Metrics: metrics.NewRegistry()}
	r.p = New(parts, tp, id, dir, log, c, kafka.NoOffset)
	t.Cleanup(func() {
		r.purg.Close()
		_ = r.p.Close(true)
		_ = dirs.Close(true, 0)
	})
	return r
}

// lead makes the rig's broker the leader.
func (r *rig) lead(epoch kafka.LeaderEpoch) {
	r.t.Helper()
	err := r.p.SetRole(Role{Leading: true, Leader: 1, Epoch: epoch, Replicas: []kafka.BrokerID{1}, ISR: []kafka.BrokerID{1}})
	if err != nil {
		r.t.Fatal(err)
	}
}

// batch builds a client's batch of records at the given timestamps.
func batch(timestamps ...int64) record.Batch { return batchOf(5, timestamps...) }

// batchOf is batch with values of a size.
func batchOf(size int, timestamps ...int64) record.Batch {
	b := record.NewBuilder(record.PlainOptions(record.None))
	for _, ts := range timestamps {
		b.Append(ts, []byte("key"), bytes.Repeat([]byte{'v'}, size), nil)
	}
	return b.Bytes()
}

// append appends with acks and returns the result.
func (r *rig) append(acks int16, b record.Batch) Appended {
	return r.p.Append(&Append{Batch: b, Acks: acks, Version: 9})
}

// mustAppend appends and fails the test on an error.
func (r *rig) mustAppend(b record.Batch) Appended {
	r.t.Helper()
	out := r.append(1, b)
	if out.Code != kafka.None {
		r.t.Fatalf("append: %s %s", out.Code, out.Message)
	}
	return out
}

// fetch reads from an offset and lets go of the records.
func (r *rig) fetch(q Fetch) (Fetched, int64) {
	if q.MaxBytes == 0 {
		q.MaxBytes = 1 << 20
	}
	var out Fetched
	r.p.Fetch(&q, &out)
	var n int64
	if out.Range != nil {
		n = out.Range.Len()
		out.Range.Release()
	}
	return out, n
}

// anyEpoch is a fetch from an offset that checks no epochs.
func anyEpoch(from kafka.Offset) Fetch {
	return Fetch{From: from, Epoch: kafka.NoLeaderEpoch, LastEpoch: kafka.NoLeaderEpoch}
}

func (r *rig) expectHW(want kafka.Offset) {
	r.t.Helper()
	if got := r.p.HighWatermark(); got != want {
		r.t.Fatalf("high watermark %d, want %d", got, want)
	}
}

func TestProduceRules(t *testing.T) {
	r := newRig(t, vfs.OS(), func(c *config.Topic) { c.MinInsyncReplicas = 2 })
	if out := r.append(1, batch(1)); out.Code != kafka.ErrNotLeaderOrFollower {
		t.Fatalf("without a role: %s", out.Code)
	}
	// PROD-11: two copies of three in sync are asked for, and there is one.
	if err := r.p.SetRole(Role{Leading: true, Leader: 1, Epoch: 2, Replicas: []kafka.BrokerID{1, 2, 3}, ISR: []kafka.BrokerID{1}}); err != nil {
		t.Fatal(err)
	}
	if out := r.append(AllReplicas, batch(1)); out.Code != kafka.ErrNotEnoughReplicas || out.Base != kafka.NoOffset {
		t.Fatalf("acks=all with min ISR 2: %s, base %d, want NOT_ENOUGH_REPLICAS and nothing appended", out.Code, out.Base)
	}
	if out := r.mustAppend(batch(1)); out.Base != 0 {
		t.Fatalf("acks=1: %+v", out)
	}
	r.expectHW(0) // KIP-966: invisible while too few are in sync
	// With replication 1 Kafka 4.4 holds min ISR 2 to 1.
	r.lead(3)
	r.expectHW(1)
	if out := r.append(AllReplicas, batch(2)); out.Code != kafka.None || out.Base != 1 || out.Start != 0 || out.AppendTimeMS != -1 || out.Await != kafka.NoOffset {
		t.Fatalf("acks=all with replication 1: %+v", out)
	}
	r.expectHW(2)
	if out := r.mustAppend(batch(3)); out.Base != 2 {
		t.Fatalf("base %d, want 2", out.Base)
	}

	broken := batch(4)
	broken[len(broken)-1] ^= 1
	if out := r.append(1, broken); out.Code != kafka.ErrCorruptMessage || out.Start != kafka.NoOffset { // PROD-05
		t.Fatalf("a flipped bit: %+v", out)
	}
	r.expectHW(3)
}

func TestBatchOverSegmentBytes(t *testing.T) {
	r := newRig(t, vfs.OS(), func(c *config.Topic) { c.SegmentBytes = 100 })
	r.lead(0)
	if out := r.append(1, batch(1, 2, 3, 4, 5, 6, 7, 8)); out.Code != kafka.ErrRecordListTooLarge {
		t.Fatalf("batch over segment.bytes: %s", out.Code)
	}
}

func TestFetchRange(t *testing.T) {
	r := newRig(t, vfs.OS(), nil)
	r.lead(5)
	r.mustAppend(batch(1, 2))
	r.mustAppend(batch(3, 4))
	r.mustAppend(batch(5, 6))
	if _, code := r.p.DeleteRecords(2); code != kafka.None {
		t.Fatal(code)
	}
	for _, c := range []struct { // FETCH-05
		name    string
		from    kafka.Offset
		code    kafka.ErrorCode
		hw      kafka.Offset
		records bool
	}{
		{"below the log start", 1, kafka.ErrOffsetOutOfRange, -1, false},
		{"minus one", -1, kafka.ErrOffsetOutOfRange, -1, false},
		{"at the log start", 2, kafka.None, 6, true},
		{"in the middle of a batch", 3, kafka.None, 6, true},
		{"at the log end", 6, kafka.None, 6, false},
		{"past the log end", 7, kafka.ErrOffsetOutOfRange, -1, false},
	} {
		out, n := r.fetch(anyEpoch(c.from))
		if out.Code != c.code || out.HighWatermark != c.hw || (out.LogStart == 2) != (c.code == kafka.None) || (n > 0) != c.records {
			t.Errorf("%s: %s, HW %d, start %d, %d bytes", c.name, out.Code, out.HighWatermark, out.LogStart, n)
		}
	}
	one := anyEpoch(2)
	one.MaxBytes, one.MinOne = 1, true
	if _, n := r.fetch(one); n != int64(len(batch(3, 4))) { // FETCH-01
		t.Errorf("one byte with at-least-one gives %d bytes, want the first batch", n)
	}
	one.MinOne = false
	if _, n := r.fetch(one); n != 0 {
		t.Errorf("one byte as a hard limit gives %d bytes", n)
	}
}

func TestKIP320EpochFencing(t *testing.T) {
	r := newRig(t, vfs.OS(), nil)
	r.lead(3)
	r.mustAppend(batch(1))
	r.lead(5)
	r.mustAppend(batch(2))
	for _, c := range []struct {
		claimed kafka.LeaderEpoch
		want    kafka.ErrorCode
	}{{-1, kafka.None}, {5, kafka.None}, {4, kafka.ErrFencedLeaderEpoch}, {6, kafka.ErrUnknownLeaderEpoch}} {
		q := anyEpoch(0)
		q.Epoch = c.claimed
		if out, _ := r.fetch(q); out.Code != c.want {
			t.Errorf("fetch with epoch %d: %s, want %s", c.claimed, out.Code, c.want)
		}
		if _, code := r.p.ListOffset(Latest, Uncommitted, c.claimed); code != c.want {
			t.Errorf("list offsets with epoch %d: %s, want %s", c.claimed, code, c.want)
		}
		if _, _, code := r.p.EpochEnd(3, c.claimed); code != c.want {
			t.Errorf("epoch end with epoch %d: %s, want %s", c.claimed, code, c.want)
		}
	}
	for _, c := range []struct {
		asked, epoch kafka.LeaderEpoch
		end          kafka.Offset
	}{{3, 3, 1}, {4, 3, 1}, {5, 5, 2}, {6, -1, -1}, {0, 0, 0}} {
		if epoch, end, _ := r.p.EpochEnd(c.asked, -1); epoch != c.epoch || end != c.end {
			t.Errorf("end of epoch %d: (%d, %d), want (%d, %d)", c.asked, epoch, end, c.epoch, c.end)
		}
	}
	diverged := anyEpoch(2)
	diverged.LastEpoch = 4
	if out, n := r.fetch(diverged); out.Code != kafka.None || out.DivergingEpoch != 3 || out.DivergingEnd != 1 || n != 0 {
		t.Errorf("diverging fetch: %+v, %d bytes, want epoch 3 end 1 and no records", out, n)
	}
	same := anyEpoch(1)
	same.LastEpoch = 3
	if out, n := r.fetch(same); out.DivergingEpoch != kafka.NoLeaderEpoch || n == 0 {
		t.Errorf("fetch with the same history: %+v, %d bytes", out, n)
	}
}

func TestEpochIsAssignedWithoutData(t *testing.T) {
	r := newRig(t, vfs.OS(), nil)
	r.lead(7)
	if epoch, end, _ := r.p.EpochEnd(7, -1); epoch != 7 || end != 0 {
		t.Fatalf("end of epoch 7: (%d, %d), want (7, 0)", epoch, end)
	}
}

// LOG-22: a log with a later epoch than the cluster's is served.
func TestLogWithALaterEpochIsServed(t *testing.T) {
	r := newRig(t, vfs.OS(), nil)
	if err := r.p.Log().AssignEpoch(9, 0); err != nil {
		t.Fatal(err)
	}
	r.lead(3)
	if out := r.mustAppend(batch(1)); out.Base != 0 {
		t.Fatalf("base %d", out.Base)
	}
	if epoch, end, _ := r.p.EpochEnd(9, 3); epoch != 9 || end != 1 {
		t.Fatalf("end of epoch 9: (%d, %d), want (9, 1)", epoch, end)
	}
}

func TestListOffsets(t *testing.T) {
	r := newRig(t, vfs.OS(), nil)
	r.lead(1)
	for _, ts := range []int64{Latest, Earliest} { // OFFS-03
		if f, code := r.p.ListOffset(ts, Uncommitted, -1); code != kafka.None || f.Offset != 0 || f.Timestamp != -1 {
			t.Errorf("empty partition, %d: %+v %s", ts, f, code)
		}
	}
	if f, code := r.p.ListOffset(5, Uncommitted, -1); code != kafka.None || f != nothing {
		t.Errorf("empty partition by time: %+v %s", f, code)
	}
	r.mustAppend(batch(2, 4))
	r.lead(2)
	r.mustAppend(batch(6, 8))
	for _, c := range []struct {
		timestamp int64
		want      Found
	}{
		{3, Found{1, 4, 1}}, // OFFS-02
		{5, Found{2, 6, 2}}, // OFFS-09: the epoch of the record
		{7, Found{3, 8, 2}},
		{9, nothing}, // OFFS-01
		{Earliest, Found{0, -1, 1}},
		{EarliestLocal, Found{0, -1, 1}},
		{Latest, Found{4, -1, 2}},
		{MaxTimestamp, Found{3, 8, 2}},
		{LatestTiered, nothing},
		{EarliestPendingUpload, nothing},
	} {
		if f, code := r.p.ListOffset(c.timestamp, Uncommitted, -1); code != kafka.None || f != c.want {
			t.Errorf("timestamp %d: %+v %s, want %+v", c.timestamp, f, code, c.want)
		}
	}
}

// OFFS-06: an open transaction holds read_committed back.
func TestLastStableOffset(t *testing.T) {
	r := newRig(t, vfs.OS(), nil)
	r.lead(1)
	r.mustAppend(batch(1))
	o := record.PlainOptions(record.None)
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = 9, 0, 0, true
	b := record.NewBuilder(o)
	b.Append(2, nil, []byte("v"), nil)
	r.mustAppend(b.Bytes())
	r.mustAppend(batch(3))
	if f, _ := r.p.ListOffset(Latest, Committed, -1); f.Offset != 1 {
		t.Errorf("latest stable %d, want 1", f.Offset)
	}
	if f, _ := r.p.ListOffset(Latest, Uncommitted, -1); f.Offset != 3 {
		t.Errorf("latest %d, want 3", f.Offset)
	}
	q := anyEpoch(1)
	q.Committed = true
	if out, n := r.fetch(q); out.Code != kafka.None || out.LastStable != 1 || out.HighWatermark != 3 || n != 0 {
		t.Errorf("read_committed at the open transaction: %+v, %d bytes", out, n)
	}
}

func TestDeleteRecordsRules(t *testing.T) {
	r := newRig(t, vfs.OS(), nil)
	r.lead(0)
	r.mustAppend(batch(1, 2, 3))
	for _, c := range []struct {
		before, want kafka.Offset
		code         kafka.ErrorCode
	}{
		{4, -1, kafka.ErrOffsetOutOfRange}, {-2, -1, kafka.ErrOffsetOutOfRange},
		{2, 2, kafka.None}, {1, 2, kafka.None}, {-1, 3, kafka.None},
	} {
		if low, code := r.p.DeleteRecords(c.before); low != c.want || code != c.code {
			t.Errorf("before %d: %d %s, want %d %s", c.before, low, code, c.want, c.code)
		}
	}
	r.topic.CleanupDelete, r.topic.CleanupCompact = false, true
	r.p.SetConfig(NewConfig(&r.topic, 1))
	if _, code := r.p.DeleteRecords(-1); code != kafka.ErrPolicyViolation {
		t.Errorf("compact only: %s", code)
	}
}

// flushed collects the answers of the group commit.
type flushed struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

func (f *flushed) Synced(err error) {
	f.mu.Lock()
	f.errs = append(f.errs, err)
	f.mu.Unlock()
	f.wg.Done()
}

func TestFlushMessagesHoldsAnswerAndHighWatermark(t *testing.T) {
	r := newRig(t, vfs.OS(), func(c *config.Topic) { c.FlushMessages = 1 })
	r.lead(0)
	out := r.mustAppend(batch(1, 2))
	if out.Await != 2 {
		t.Fatalf("await %d, want 2", out.Await)
	}
	r.expectHW(0)
	var f flushed
	f.wg.Add(1)
	r.p.Await(out.Await, &f)
	f.wg.Wait()
	if f.errs[0] != nil {
		t.Fatal(f.errs[0])
	}
	r.expectHW(2)
	if got := r.p.RecoveryPoint(); got != 2 {
		t.Fatalf("recovery point %d, want 2", got)
	}
}

func TestFlushMessagesCountsRecords(t *testing.T) {
	r := newRig(t, vfs.OS(), func(c *config.Topic) { c.FlushMessages = 3 })
	r.lead(0)
	var awaits []kafka.Offset
	for range 4 {
		awaits = append(awaits, r.mustAppend(batch(1, 2)).Await)
	}
	want := []kafka.Offset{-1, 4, -1, 8}
	for i := range want {
		if awaits[i] != want[i] {
			t.Fatalf("awaits %v, want %v", awaits, want)
		}
	}
	r.expectHW(8)
}

func TestRetentionLimits(t *testing.T) {
	r := newRig(t, vfs.OS(), func(c *config.Topic) { c.SegmentBytes = 100 })
	r.lead(0)
	for range 3 {
		r.mustAppend(batch(1))
	}
	n := len(r.p.Log().Segments())
	if n != 3 {
		t.Fatalf("%d segments, want 3", n)
	}
	for _, bad := range []int{0, -1, n + 1} {
		if err := r.p.DeleteOldest(bad, 1, "test"); err == nil {
			t.Errorf("deleting %d of %d segments was allowed", bad, n)
		}
	}
	if err := r.p.DeleteOldest(1, 1, "test"); err != nil || r.p.StartOffset() != 1 {
		t.Fatalf("start %d after the oldest went, %v", r.p.StartOffset(), err)
	}
	if err := r.p.DeleteOldest(1, 3, "test"); !errors.Is(err, commitlog.ErrChanged) {
		t.Fatalf("a segment that ends elsewhere than decided went: %v", err)
	}
	if err := r.p.DeleteOldest(2, 3, "test"); err != nil || r.p.StartOffset() != 3 || r.p.EndOffset() != 3 {
		t.Fatalf("start %d, end %d after all went, %v", r.p.StartOffset(), r.p.EndOffset(), err)
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("pools drop items at random")
	}
	r := newRig(t, vfs.OS(), func(c *config.Topic) { c.SegmentBytes = 1 << 30 })
	r.lead(0)
	a := &Append{Acks: 1, Version: 9}
	proto := batch(1, 2, 3)
	a.Batch = append(record.Batch(nil), proto...)
	if n := testing.AllocsPerRun(200, func() {
		copy(a.Batch, proto)
		if out := r.p.Append(a); out.Code != kafka.None {
			t.Error(out.Code)
		}
	}); n != 0 {
		t.Fatalf("%v allocs per append, want 0", n)
	}
}

func TestFetchAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("pools drop items at random")
	}
	r := newRig(t, vfs.OS(), nil)
	r.lead(0)
	r.mustAppend(batch(1, 2, 3))
	q := anyEpoch(0)
	q.MaxBytes = 1 << 20
	var out Fetched
	if n := testing.AllocsPerRun(200, func() {
		r.p.Fetch(&q, &out)
		if out.Range == nil {
			t.Error("no records")
			return
		}
		out.Range.Release()
	}); n != 0 {
		t.Fatalf("%v allocs per fetch, want 0", n)
	}
}
