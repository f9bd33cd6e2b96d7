package api

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// fetchOf makes a fetch request (version 12) of partitions 0…n-1 of a topic from
// offset 0, without a session.
func fetchOf(topic string, n int) *kmsg.FetchRequest {
	m := kmsg.NewPtrFetchRequest()
	m.Version, m.MaxBytes, m.MinBytes, m.SessionEpoch = 12, 1<<20, 1, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	for i := range n {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = int32(i), 1<<20
		t.Partitions = append(t.Partitions, p)
	}
	m.Topics = append(m.Topics, t)
	return m
}

// fetchNow is the answer to a fetch that does not wait.
func (d *dataRig) fetchNow(m *kmsg.FetchRequest) *kmsg.FetchResponse {
	d.t.Helper()
	return call[*kmsg.FetchResponse](d, d.a.fetch, m)
}

// partitionsOf flattens an answer.
func partitionsOf(resp *kmsg.FetchResponse) (all []kmsg.FetchResponseTopicPartition) {
	for _, t := range resp.Topics {
		all = append(all, t.Partitions...)
	}
	return all
}

// answered reports whether a request has its answer.
func answered(rec *wire.Recorder) bool {
	select {
	case <-rec.Done():
		return true
	default:
		return false
	}
}

func TestFetchReturnsWhatWasProduced(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	d.mustProduce("t", 3)
	want := records(3)
	for version := int16(4); version <= 18; version++ {
		m := fetchOf("t", 1)
		m.Version, m.Topics[0].TopicID = version, d.ids["t"]
		p := partitionsOf(d.fetchNow(m))[0]
		if p.ErrorCode != 0 || p.HighWatermark != 3 || len(p.RecordBatches) != len(want) {
			t.Fatalf("version %d: %s, HW %d, %d bytes, want %d", version, kafka.ErrorCode(p.ErrorCode), p.HighWatermark, len(p.RecordBatches), len(want))
		}
		if string(p.RecordBatches[16:]) != string(want[16:]) || p.RecordBatches[15] != 2 {
			t.Fatalf("version %d: other bytes came back than were produced, or epoch %d", version, p.RecordBatches[15])
		}
		if p.AbortedTransactions != nil || p.PreferredReadReplica != -1 {
			t.Fatalf("version %d: aborted %v, preferred %d", version, p.AbortedTransactions, p.PreferredReadReplica)
		}
	}
	m := fetchOf("t", 1)
	m.IsolationLevel = 1
	if p := partitionsOf(d.fetchNow(m))[0]; p.AbortedTransactions == nil {
		t.Fatal("read_committed without aborted transactions must have an empty list, not null")
	}
}

func TestFetchErrors(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	m := fetchOf("t", 2)
	m.MaxWaitMillis = 10_000 // any error answers at once
	got := partitionsOf(d.fetchNow(m))
	if got[0].ErrorCode != 0 || kafka.ErrorCode(got[1].ErrorCode) != kafka.ErrUnknownTopicOrPartition || got[1].HighWatermark != -1 {
		t.Fatalf("answers %+v", got)
	}
	past := fetchOf("t", 1) // FETCH-05
	past.Topics[0].Partitions[0].FetchOffset = 1
	if p := partitionsOf(d.fetchNow(past))[0]; kafka.ErrorCode(p.ErrorCode) != kafka.ErrOffsetOutOfRange {
		t.Fatalf("past the log end: %s", kafka.ErrorCode(p.ErrorCode))
	}
	m = fetchOf("", 1)
	m.Version, m.Topics[0].TopicID = 13, kafka.NewTopicID()
	if p := partitionsOf(d.fetchNow(m))[0]; kafka.ErrorCode(p.ErrorCode) != kafka.ErrUnknownTopicID {
		t.Fatalf("unknown id: %s", kafka.ErrorCode(p.ErrorCode))
	}
	m.Version, m.Topics[0].TopicID = 16, d.ids["far"]
	resp := d.fetchNow(m)
	if p := partitionsOf(resp)[0]; kafka.ErrorCode(p.ErrorCode) != kafka.ErrNotLeaderOrFollower || p.CurrentLeader.LeaderID != 7 || len(resp.Brokers) != 1 {
		t.Fatalf("elsewhere: %+v, brokers %+v", p, resp.Brokers)
	}
}

// KIP-74: the first partition with records gives one batch, whatever the limits.
func TestFetchAtLeastOneBatch(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 3}, nil)
	call[*kmsg.ProduceResponse](d, d.a.produce, produceOf(1, "t", nil, records(100), records(100)))
	m := fetchOf("t", 3)
	m.MaxBytes = 1
	for i := range m.Topics[0].Partitions {
		m.Topics[0].Partitions[i].PartitionMaxBytes = 1
	}
	p := partitionsOf(d.fetchNow(m))
	if len(p[0].RecordBatches) != 0 || len(p[1].RecordBatches) != len(records(100)) || len(p[2].RecordBatches) != 0 {
		t.Fatalf("%d, %d and %d bytes, want one whole batch from the second", len(p[0].RecordBatches), len(p[1].RecordBatches), len(p[2].RecordBatches))
	}
	if p[2].HighWatermark != 100 || p[2].RecordBatches == nil {
		t.Fatalf("the partition without room: HW %d, records %v, want 100 and empty", p[2].HighWatermark, p[2].RecordBatches)
	}
}

func TestFetchSessionLife(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 2}, nil)
	full := fetchOf("t", 2)
	full.SessionEpoch = 0
	resp := d.fetchNow(full)
	id := resp.SessionID
	if id == 0 || len(partitionsOf(resp)) != 2 {
		t.Fatalf("session %d, %d partitions, want a session and both", id, len(partitionsOf(resp)))
	}
	next := func(epoch int32) *kmsg.FetchRequest {
		m := fetchOf("t", 0)
		m.Topics, m.SessionID, m.SessionEpoch = nil, id, epoch
		return m
	}
	if resp = d.fetchNow(next(1)); resp.ErrorCode != 0 || len(resp.Topics) != 0 {
		t.Fatalf("nothing new: %s, %d topics", kafka.ErrorCode(resp.ErrorCode), len(resp.Topics))
	}
	d.mustProduce("t", 1)
	got := partitionsOf(d.fetchNow(next(2)))
	if len(got) != 1 || got[0].Partition != 0 || len(got[0].RecordBatches) == 0 {
		t.Fatalf("after a produce: %+v, want partition 0 alone", got)
	}
	if resp = d.fetchNow(next(2)); kafka.ErrorCode(resp.ErrorCode) != kafka.ErrInvalidFetchSessionEpoch {
		t.Fatalf("an epoch again: %s", kafka.ErrorCode(resp.ErrorCode))
	}
	mixed := next(3)
	mixed.Version = 13
	if resp = d.fetchNow(mixed); kafka.ErrorCode(resp.ErrorCode) != kafka.ErrFetchSessionTopicIDError {
		t.Fatalf("ids in a session of names: %s", kafka.ErrorCode(resp.ErrorCode))
	}
	forget := next(3)
	f := kmsg.NewFetchRequestForgottenTopic()
	f.Topic, f.Partitions = "t", []int32{0}
	forget.ForgottenTopics = append(forget.ForgottenTopics, f)
	if resp = d.fetchNow(forget); len(resp.Topics) != 0 {
		t.Fatalf("after forgetting partition 0: %+v, want nothing new", resp.Topics)
	}
	closing := fetchOf("t", 1)
	closing.SessionID, closing.SessionEpoch = id, -1
	if resp = d.fetchNow(closing); resp.SessionID != 0 || len(partitionsOf(resp)) != 1 {
		t.Fatalf("closing fetch: session %d, %d partitions", resp.SessionID, len(partitionsOf(resp)))
	}
	if resp = d.fetchNow(next(4)); kafka.ErrorCode(resp.ErrorCode) != kafka.ErrFetchSessionIDNotFound {
		t.Fatalf("a closed session: %s", kafka.ErrorCode(resp.ErrorCode))
	}
}

// parkedAt sends a fetch of partition 0 from an offset that waits.
func (d *dataRig) parkedAt(offset int64, minBytes int32, wait time.Duration) (*kmsg.FetchRequest, *wire.Recorder) {
	d.t.Helper()
	m := fetchOf("t", 1)
	m.Topics[0].Partitions[0].FetchOffset = offset
	m.MinBytes, m.MaxWaitMillis = minBytes, int32(wait.Milliseconds())
	r, rec := wire.Record(m, "client")
	d.a.fetch(r)
	return m, rec
}

func TestParkedFetchIsWokenByProgress(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	m, rec := d.parkedAt(0, 1, time.Hour)
	if answered(rec) {
		t.Fatal("a fetch at the log end did not wait")
	}
	d.mustProduce("t", 2)
	p := partitionsOf(answerOf[*kmsg.FetchResponse](d, m, rec))[0]
	if p.HighWatermark != 2 || len(p.RecordBatches) == 0 {
		t.Fatalf("HW %d, %d bytes", p.HighWatermark, len(p.RecordBatches))
	}
	if n := d.a.deps.Purgatory.Waiting(); n != 0 {
		t.Fatalf("%d still wait", n)
	}
}

func TestParkedFetchCountsBytes(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	m, rec := d.parkedAt(0, int32(2*len(records(1))), time.Hour)
	d.mustProduce("t", 1)
	d.mustProduce("t", 1)
	if p := partitionsOf(answerOf[*kmsg.FetchResponse](d, m, rec))[0]; len(p.RecordBatches) < 2*len(records(1)) {
		t.Fatalf("woken with %d bytes, want both batches", len(p.RecordBatches))
	}
}

func TestParkedFetchEnds(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	m, rec := d.parkedAt(0, 1, 500*time.Millisecond)
	d.clock.Advance(499 * time.Millisecond)
	if answered(rec) {
		t.Fatal("answered before max.wait")
	}
	d.clock.Advance(2 * time.Millisecond)
	if p := partitionsOf(answerOf[*kmsg.FetchResponse](d, m, rec))[0]; p.ErrorCode != 0 || len(p.RecordBatches) != 0 {
		t.Fatalf("after max.wait: %+v, want empty without an error", p)
	}

	_, rec = d.parkedAt(0, 1, time.Hour) // FETCH-04
	rec.Cancel()
	if frame, err := rec.Frame(); frame != nil || err != nil {
		t.Fatalf("a cancelled fetch: %d bytes, %v", len(frame), err)
	}
	if n := d.a.deps.Purgatory.Waiting(); n != 0 {
		t.Fatalf("%d still wait", n)
	}
	for _, c := range []struct {
		name     string
		minBytes int32
		wait     time.Duration
	}{{"min bytes 0", 0, time.Hour}, {"wait 0", 1, 0}, {"negative wait", 1, -time.Second}} {
		if _, rec := d.parkedAt(0, c.minBytes, c.wait); !answered(rec) {
			t.Errorf("%s: must be answered at once", c.name)
		}
	}
}

// FETCH-14: the whole answer fits into a buffer of the size that was asked for.
func TestFetchResponseFitsMaxBytes(t *testing.T) {
	const n = 64
	d := newDataRig(t, map[string]int{"t": n}, nil)
	var data [][]byte
	for range n {
		data = append(data, records(3000))
	}
	for range 2 {
		call[*kmsg.ProduceResponse](d, d.a.produce, produceOf(1, "t", data...))
	}
	m := fetchOf("t", n)
	m.MaxBytes = 2 << 20
	r, rec := wire.Record(m, "client")
	d.a.fetch(r)
	frame, err := rec.Frame()
	if err != nil || len(frame) > 2<<20 || len(frame) < 3<<19 {
		t.Fatalf("answer of %d bytes, %v, want nearly and at most %d", len(frame), err, 2<<20)
	}
}

func TestFetchAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("pools drop items at random")
	}
	d := newDataRig(t, map[string]int{"t": 8}, nil)
	data := [][]byte{}
	for range 8 {
		data = append(data, records(10))
	}
	call[*kmsg.ProduceResponse](d, d.a.produce, produceOf(1, "t", data...))
	conn, sink, r := &wire.ConnInfo{Listener: "TEST"}, new(nullSink), new(wire.Request)
	pool := new(wire.Responses)
	allocs := func(partitions int) float64 {
		body := fetchOf("t", partitions).AppendTo(nil)
		return testing.AllocsPerRun(200, func() {
			r.Init(wire.Header{Key: 1, Version: 12}, body, conn, d.clock.Now(), sink, pool)
			d.a.fetch(r)
		})
	}
	one, eight := allocs(1), allocs(8)
	t.Logf("%v allocs per fetch of one partition, %v of eight", one, eight)
	if eight > one {
		t.Fatalf("%v allocs for 8 partitions and %v for one: want 0 per fetched batch", eight, one)
	}
	if one > 0 {
		t.Fatalf("%v allocs per fetch, want none", one)
	}
}

// Kafka's older clients do not know KAFKA_STORAGE_ERROR and would not try again.
func TestStorageErrorOfOldVersions(t *testing.T) {
	for version, want := range map[int16]kafka.ErrorCode{4: kafka.ErrNotLeaderOrFollower, 5: kafka.ErrNotLeaderOrFollower, 6: kafka.ErrKafkaStorageError} {
		r, _ := wire.RecordBytes(wire.Header{Key: wire.KeyFetch, Version: version}, nil)
		c := &fetchCall{r: r}
		p := &fetchPart{found: partition.Fetched{Code: kafka.ErrKafkaStorageError, DivergingEpoch: kafka.NoLeaderEpoch}}
		if got := c.result(p).Err; got != want {
			t.Errorf("version %d: %v, want %v", version, got, want)
		}
	}
}
