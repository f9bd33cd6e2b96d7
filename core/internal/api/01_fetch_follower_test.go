package api

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// followerEpoch is the registration of broker 7, which follows.
const followerEpoch = 9

// replicate makes broker 7 a follower of all partitions of a topic.
func (d *dataRig) replicate(topic string) {
	d.t.Helper()
	control := d.a.deps.Control.(*imageControl)
	now := control.Image()
	e := now.Edit(now.Index + 1)
	old, _ := now.Topic(topic)
	next := &meta.Topic{Name: topic, ID: old.ID}
	for range old.Partitions {
		both := []kafka.BrokerID{rigSelf, 7}
		next.Partitions = append(next.Partitions, meta.Partition{Replicas: both, ISR: both, Leader: rigSelf, LeaderEpoch: 3, PartitionEpoch: 1})
	}
	e.PutTopic(next)
	e.PutBroker(&meta.Broker{ID: 7, Epoch: followerEpoch})
	control.p.Publish(e.Image())
	if err := d.a.deps.Roles.WaitApplied(context.Background(), now.Index+1); err != nil {
		d.t.Fatal(err)
	}
}

// followOf makes a follower's fetch of n partitions of a topic, from an offset on.
func (d *dataRig) followOf(topic string, n int, from int64) *kmsg.FetchRequest {
	m := kmsg.NewPtrFetchRequest()
	m.Version, m.ReplicaState.ID, m.ReplicaState.Epoch = wire.FollowerVersion, 7, followerEpoch
	m.MaxWaitMillis, m.MinBytes, m.MaxBytes, m.SessionEpoch = 500, 1, 10<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.TopicID = d.ids[topic]
	for i := range n {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch, p.LogStartOffset, p.PartitionMaxBytes = int32(i), 3, from, -1, 0, 1<<20
		t.Partitions = append(t.Partitions, p)
	}
	m.Topics = append(m.Topics, t)
	return m
}

// followed is the only partition of an answer.
func followed(m *kmsg.FetchResponse) kmsg.FetchResponseTopicPartition { return partitionsOf(m)[0] }

// TestFollowerMovesTheHighWatermark: it reads what is not committed, and by asking for
// what comes next it commits it, which answers the producer.
func TestFollowerMovesTheHighWatermark(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	d.replicate("t")
	m := produceOf(-1, "t", records(10))
	r, produced := wire.Record(m, "client")
	d.a.produce(r)
	select {
	case <-produced.Done():
		t.Fatal("acknowledged before a follower had it")
	default:
	}
	if p := followed(call[*kmsg.FetchResponse](d, d.a.fetch, d.followOf("t", 1, 0))); p.ErrorCode != 0 || len(p.RecordBatches) == 0 || p.HighWatermark != 0 {
		t.Fatalf("%s, %d bytes, high watermark %d", kafka.ErrorCode(p.ErrorCode), len(p.RecordBatches), p.HighWatermark)
	}
	r, next := wire.Record(d.followOf("t", 1, 10), "client")
	d.a.fetch(r)
	if resp := answerOf[*kmsg.ProduceResponse](d, m, produced).Topics[0].Partitions[0]; resp.ErrorCode != 0 || resp.BaseOffset != 0 {
		t.Fatalf("%s at %d", kafka.ErrorCode(resp.ErrorCode), resp.BaseOffset)
	}
	// It waits, and an append wakes it.
	d.mustProduce("t", 1)
	if p := followed(answerOf[*kmsg.FetchResponse](d, d.followOf("t", 1, 10), next)); len(p.RecordBatches) == 0 || p.HighWatermark != 10 {
		t.Fatalf("%d bytes, high watermark %d", len(p.RecordBatches), p.HighWatermark)
	}
}

// TestUnacknowledgedAppendSaysWhereItIs: what no follower took in time is in the log.
func TestUnacknowledgedAppendSaysWhereItIs(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	d.replicate("t")
	d.mustProduce("t", 1)
	m := produceOf(-1, "t", records(10))
	m.TimeoutMillis = 100
	r, produced := wire.Record(m, "client")
	d.a.produce(r)
	d.clock.Advance(100 * time.Millisecond)
	resp := answerOf[*kmsg.ProduceResponse](d, m, produced).Topics[0].Partitions[0]
	if kafka.ErrorCode(resp.ErrorCode) != kafka.ErrRequestTimedOut || resp.BaseOffset != 1 || resp.LogStartOffset != 0 {
		t.Errorf("%s at %d, log start %d, want a time-out at 1", kafka.ErrorCode(resp.ErrorCode), resp.BaseOffset, resp.LogStartOffset)
	}
}

// TestKIP903OldStartOfAFollowerIsRefused, and so is who is no replica.
func TestKIP903OldStartOfAFollowerIsRefused(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	d.replicate("t")
	d.mustProduce("t", 1)
	for _, c := range []struct {
		id    int32
		epoch int64
		code  kafka.ErrorCode
	}{{7, followerEpoch, 0}, {7, followerEpoch - 1, kafka.ErrNotLeaderOrFollower}, {5, followerEpoch, kafka.ErrNotLeaderOrFollower}} {
		m := d.followOf("t", 1, 0)
		m.ReplicaState.ID, m.ReplicaState.Epoch = c.id, c.epoch
		if p := followed(call[*kmsg.FetchResponse](d, d.a.fetch, m)); kafka.ErrorCode(p.ErrorCode) != c.code {
			t.Errorf("replica %d of epoch %d: %s, want %s", c.id, c.epoch, kafka.ErrorCode(p.ErrorCode), c.code)
		}
	}
}

// TestNextFetchOfASessionHurriesTheOneThatWaits.
func TestNextFetchOfASessionHurriesTheOneThatWaits(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 2}, nil)
	d.replicate("t")
	m := d.followOf("t", 1, 0)
	m.SessionEpoch, m.MaxWaitMillis = 0, 0
	session := call[*kmsg.FetchResponse](d, d.a.fetch, m).SessionID
	idle := d.followOf("t", 0, 0)
	idle.SessionID, idle.SessionEpoch, idle.Topics = session, 1, nil
	r, first := wire.Record(idle, "client")
	d.a.fetch(r)
	more := d.followOf("t", 2, 0)
	more.SessionID, more.SessionEpoch, more.MaxWaitMillis = session, 2, 0
	answer := call[*kmsg.FetchResponse](d, d.a.fetch, more)
	select {
	case <-first.Done():
	default:
		t.Fatal("the fetch before goes on waiting")
	}
	if p := partitionsOf(answer); answer.ErrorCode != 0 || len(p) != 1 || p[0].Partition != 1 {
		t.Fatalf("%s: %+v", kafka.ErrorCode(answer.ErrorCode), p)
	}
}

// TestWokenFetchHasWhatIsNew: of two partitions that had nothing one got a record, and
// the other is told as it was.
func TestWokenFetchHasWhatIsNew(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 2}, nil)
	d.replicate("t")
	m := d.followOf("t", 2, 0)
	r, waits := wire.Record(m, "client")
	d.a.fetch(r)
	d.mustProduce("t", 3)
	p := partitionsOf(answerOf[*kmsg.FetchResponse](d, m, waits))
	if len(p) != 2 || len(p[0].RecordBatches) == 0 || len(p[1].RecordBatches) != 0 || p[1].ErrorCode != 0 || p[1].HighWatermark != 0 {
		t.Fatalf("%+v", p)
	}
	r, waits = wire.Record(d.followOf("t", 2, 3), "client") // beyond the end of the second
	d.a.fetch(r)
	p = partitionsOf(answerOf[*kmsg.FetchResponse](d, m, waits))
	if p[0].HighWatermark != 3 || kafka.ErrorCode(p[1].ErrorCode) != kafka.ErrOffsetOutOfRange {
		t.Fatalf("%+v", p)
	}
}

func TestFollowerFetchAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("pools drop items at random")
	}
	d := newDataRig(t, map[string]int{"t": 8}, nil)
	d.replicate("t")
	data := [][]byte{}
	for range 8 {
		data = append(data, records(10))
	}
	call[*kmsg.ProduceResponse](d, d.a.produce, produceOf(1, "t", data...))
	conn, sink, r := &wire.ConnInfo{Listener: "TEST"}, new(nullSink), new(wire.Request)
	pool := new(wire.Responses)
	body := d.followOf("t", 8, 0).AppendTo(nil)
	if n := testing.AllocsPerRun(200, func() {
		r.Init(wire.Header{Key: 1, Version: wire.FollowerVersion}, body, conn, d.clock.Now(), sink, pool)
		d.a.fetch(r)
	}); n > 0 {
		t.Fatalf("%v allocs per fetch, want none", n)
	}
}
