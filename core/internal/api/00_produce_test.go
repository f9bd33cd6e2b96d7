package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/wire"
)

func TestProduceOnePartition(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 2, "c": 1, "__consumer_offsets": 1}, map[string]map[string]string{
		"c": {"cleanup.policy": "compact"},
	})
	two := append(records(1), records(1)...)
	trailing := append(records(1), records(1)[:30]...)
	old := records(1)
	old[16] = 1
	flipped := records(1)
	flipped[len(flipped)-1] ^= 4
	tx := record.PlainOptions(record.None)
	tx.ProducerID, tx.ProducerEpoch, tx.BaseSequence, tx.Transactional = 1, 0, 0, true
	b := record.NewBuilder(tx)
	b.Append(1, nil, []byte("v"), nil)
	transactional := b.Bytes()

	for _, c := range []struct {
		name  string
		topic string
		acks  int16
		data  []byte
		code  kafka.ErrorCode
	}{
		{"one batch", "t", 1, records(3), kafka.None},
		{"acks=all", "t", -1, records(1), kafka.None},
		{"PROD-09 acks=2", "t", 2, records(1), kafka.ErrInvalidRequiredAcks},
		{"PROD-09 acks=-2", "t", -2, records(1), kafka.ErrInvalidRequiredAcks},
		{"no records", "t", 1, nil, kafka.ErrInvalidRecord},
		{"two batches", "t", 1, two, kafka.ErrInvalidRecord},
		{"trailing bytes are trimmed", "t", 1, trailing, kafka.None},
		{"PROD-18 old format", "t", 1, old, kafka.ErrInvalidRecord},
		{"PROD-05 flipped bit", "t", 1, flipped, kafka.ErrCorruptMessage},
		{"nonsense", "t", 1, []byte("this is not a batch of records at all, is it?"), kafka.ErrCorruptMessage},
		{"transactional without an id", "t", 1, transactional, kafka.ErrTransactionalIDAuthorizationFailed},
		{"unknown topic", "u", 1, records(1), kafka.ErrUnknownTopicOrPartition},
		{"internal topic", "__consumer_offsets", 1, records(1), kafka.ErrInvalidTopic},
		{"elsewhere", "far", 1, records(1), kafka.ErrNotLeaderOrFollower},
		{"PROD-07 no key", "c", 1, records(2), kafka.ErrInvalidRecord},
	} {
		resp := call[*kmsg.ProduceResponse](d, d.a.produce, produceOf(c.acks, c.topic, c.data))
		p := resp.Topics[0].Partitions[0]
		if kafka.ErrorCode(p.ErrorCode) != c.code {
			t.Errorf("%s: %s, want %s", c.name, kafka.ErrorCode(p.ErrorCode), c.code)
		}
		if (p.BaseOffset >= 0) != (c.code == kafka.None) || p.LogAppendTime != -1 {
			t.Errorf("%s: base %d, append time %d", c.name, p.BaseOffset, p.LogAppendTime)
		}
		if c.topic == "c" && (len(p.ErrorRecords) != 2 || p.ErrorMessage == nil) {
			t.Errorf("%s: errors of records %v, message %v", c.name, p.ErrorRecords, p.ErrorMessage)
		}
	}
	if p, _ := d.a.deps.Roles.ByName("t", 0); p.EndOffset() != 5 {
		t.Errorf("log end %d, want the 5 records of the three good batches", p.EndOffset())
	}
}

func TestProducePartitionsAreIndependent(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 2}, nil)
	bad := records(1)
	bad[len(bad)-1] ^= 1
	resp := call[*kmsg.ProduceResponse](d, d.a.produce, produceOf(1, "t", bad, records(2), records(1)))
	want := []kafka.ErrorCode{kafka.ErrCorruptMessage, kafka.None, kafka.ErrUnknownTopicOrPartition}
	for i, p := range resp.Topics[0].Partitions {
		if kafka.ErrorCode(p.ErrorCode) != want[i] || p.Partition != int32(i) {
			t.Errorf("partition %d: %s, want %s", p.Partition, kafka.ErrorCode(p.ErrorCode), want[i])
		}
	}
}

func TestProduceByIDAndLeaderHints(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	byID := func(id kafka.TopicID) *kmsg.ProduceResponse {
		m := produceOf(1, "", records(1))
		m.Version, m.Topics[0].TopicID = 13, id
		return call[*kmsg.ProduceResponse](d, d.a.produce, m)
	}
	if p := byID(d.ids["t"]).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != 0 {
		t.Errorf("by id: %s, base %d", kafka.ErrorCode(p.ErrorCode), p.BaseOffset)
	}
	for _, id := range []kafka.TopicID{kafka.NewTopicID(), kafka.NoTopicID} {
		if p := byID(id).Topics[0].Partitions[0]; kafka.ErrorCode(p.ErrorCode) != kafka.ErrUnknownTopicID {
			t.Errorf("unknown id: %s", kafka.ErrorCode(p.ErrorCode))
		}
	}
	resp := byID(d.ids["far"]) // KIP-951
	p := resp.Topics[0].Partitions[0]
	if kafka.ErrorCode(p.ErrorCode) != kafka.ErrNotLeaderOrFollower || p.CurrentLeader.LeaderID != 7 || p.CurrentLeader.LeaderEpoch != 5 {
		t.Errorf("elsewhere: %s, leader %+v", kafka.ErrorCode(p.ErrorCode), p.CurrentLeader)
	}
	if len(resp.Brokers) != 1 || resp.Brokers[0].NodeID != 7 || resp.Brokers[0].Host != "seven" || resp.Brokers[0].Port != 77 {
		t.Errorf("endpoints %+v", resp.Brokers)
	}
}

func TestProduceWithoutAcks(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	r, rec := wire.Record(produceOf(0, "t", records(1)), "client")
	d.a.produce(r)
	if frame, err := rec.Frame(); frame != nil || err != nil {
		t.Fatalf("acks=0 was answered with %d bytes, %v", len(frame), err)
	}
	r, rec = wire.Record(produceOf(0, "nowhere", records(1)), "client")
	d.a.produce(r)
	if _, err := rec.Frame(); err == nil {
		t.Fatal("an error with acks=0 must close the connection")
	}
	if p, _ := d.a.deps.Roles.ByName("t", 0); p.EndOffset() != 1 {
		t.Fatalf("log end %d, want 1", p.EndOffset())
	}
}

func TestProduceWaitsForTheGroupCommit(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 2}, map[string]map[string]string{"t": {"flush.messages": "1"}})
	resp := call[*kmsg.ProduceResponse](d, d.a.produce, produceOf(1, "t", records(2), records(3)))
	for i, p := range resp.Topics[0].Partitions {
		if p.ErrorCode != 0 {
			t.Fatalf("partition %d: %s", i, kafka.ErrorCode(p.ErrorCode))
		}
		log, _ := d.a.deps.Roles.ByName("t", int32(i))
		if log.RecoveryPoint() != log.EndOffset() || log.HighWatermark() != log.EndOffset() {
			t.Fatalf("partition %d was answered with recovery point %d, HW %d, end %d", i, log.RecoveryPoint(), log.HighWatermark(), log.EndOffset())
		}
	}
}

func TestProduceMalformedBodyDropsTheConnection(t *testing.T) {
	d := newDataRig(t, nil, nil)
	r, rec := wire.RecordBytes(wire.Header{Key: 0, Version: 9}, []byte{1, 2, 3})
	d.a.produce(r)
	if _, err := rec.Frame(); err == nil {
		t.Fatal("a body that can't be decoded was answered")
	}
}

// nullSink takes answers and gives their memory back.
type nullSink struct{ answers int }

func (s *nullSink) Answer(resp *wire.Response) {
	s.answers++
	if resp != nil {
		resp.Release()
	}
}
func (s *nullSink) Abort(err error) { panic(err) }
func (s *nullSink) OnCancel(func()) {}
func (s *nullSink) ReleaseBody()    {}

func TestProduceAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("pools drop items at random")
	}
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	m := produceOf(1, "t", records(10))
	first := m.AppendTo(nil)
	body := append([]byte(nil), first...)
	conn, sink, r := &wire.ConnInfo{Listener: "TEST"}, new(nullSink), new(wire.Request)
	pool := new(wire.Responses)
	n := testing.AllocsPerRun(200, func() {
		copy(body, first)
		r.Init(wire.Header{Key: 0, Version: 9}, body, conn, d.clock.Now(), sink, pool)
		d.a.produce(r)
	})
	t.Logf("%v allocs per produce request of one partition, decode to reply", n)
	if n > 2 {
		t.Fatalf("%v allocs per produce request, want at most 2", n)
	}
	if sink.answers < 200 {
		t.Fatalf("%d answers", sink.answers)
	}
}
