package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// answer makes a request whose answer is recorded.
func answer(key, version int16) (*Request, *Recorder) {
	return RecordBytes(Header{Key: key, Version: version, CorrelationID: 77}, nil)
}

// bodyOf checks the frame around a response and returns what is in it.
func bodyOf(t *testing.T, rec *Recorder, key, version int16) []byte {
	t.Helper()
	frame, err := rec.Frame()
	if err != nil {
		t.Fatal(err)
	}
	if n := binary.BigEndian.Uint32(frame); int(n) != len(frame)-4 {
		t.Fatalf("frame says %d bytes, has %d", n, len(frame)-4)
	}
	if id := binary.BigEndian.Uint32(frame[4:]); id != 77 {
		t.Fatalf("correlation id %d, want 77", id)
	}
	if responseHeaderTags(key, version) {
		if frame[8] != 0 {
			t.Fatalf("header tags %d, want none", frame[8])
		}
		return frame[9:]
	}
	return frame[8:]
}

func (g gen) leader() (*CurrentLeader, int32, int32) {
	if g.IntN(2) == 0 {
		return nil, -1, -1
	}
	l := &CurrentLeader{kafka.BrokerID(g.IntN(9)), kafka.LeaderEpoch(g.IntN(9))}
	return l, int32(l.ID), int32(l.Epoch)
}

func (g gen) endpoints() (list []NodeEndpoint) {
	for range g.IntN(4) {
		list = append(list, NodeEndpoint{kafka.BrokerID(g.IntN(9)), g.str(), int32(g.Uint32()), g.str()})
	}
	return list
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func TestFetchWriterAgreesWithKmsg(t *testing.T) {
	g := newGen(9)
	for i := range 3000 { // 200 of each version
		version := int16(4 + i%15)
		want := kmsg.NewPtrFetchResponse()
		want.Version = version
		want.ThrottleMillis, want.ErrorCode, want.SessionID = int32(g.IntN(9)), int16(g.IntN(99)), int32(g.Uint32())
		r, rec := answer(KeyFetch, version)
		resp := NewResponse(r)
		topics := g.IntN(4)
		w := BeginFetch(resp, version, FetchHead{want.ThrottleMillis, kafka.ErrorCode(want.ErrorCode), want.SessionID}, topics)
		for range topics {
			wt := kmsg.FetchResponseTopic{Topic: g.str(), TopicID: g.id()}
			n := g.IntN(4)
			w.Topic([]byte(wt.Topic), wt.TopicID, n)
			for range n {
				part, wp := g.fetchAnswer()
				w.Partition(&part)
				wt.Partitions = append(wt.Partitions, wp)
			}
			want.Topics = append(want.Topics, wt)
		}
		ends := g.endpoints()
		w.End(ends)
		if version >= 16 {
			for _, e := range ends {
				want.Brokers = append(want.Brokers, kmsg.FetchResponseBroker{NodeID: int32(e.ID), Host: e.Host, Port: e.Port, Rack: orNil(e.Rack)})
			}
		}
		r.Reply(resp)
		if got := bodyOf(t, rec, KeyFetch, version); !bytes.Equal(got, want.AppendTo(nil)) {
			t.Fatalf("v%d, response %d: %d bytes differ from kmsg's %d", version, i, len(got), len(want.AppendTo(nil)))
		}
	}
}

// fetchAnswer is one partition in our words and in kmsg's.
func (g gen) fetchAnswer() (FetchPartition, kmsg.FetchResponseTopicPartition) {
	wp := kmsg.NewFetchResponseTopicPartition()
	wp.Partition, wp.ErrorCode, wp.HighWatermark = int32(g.IntN(9)), int16(g.IntN(99)), int64(g.Uint64())
	wp.LastStableOffset, wp.LogStartOffset, wp.PreferredReadReplica = int64(g.Uint64()), int64(g.Uint64()), int32(g.IntN(3)-1)
	p := FetchPartition{
		Index: wp.Partition, Err: kafka.ErrorCode(wp.ErrorCode), HighWatermark: kafka.Offset(wp.HighWatermark),
		LastStableOffset: kafka.Offset(wp.LastStableOffset), LogStartOffset: kafka.Offset(wp.LogStartOffset),
		PreferredReadReplica: kafka.BrokerID(wp.PreferredReadReplica),
	}
	if g.IntN(2) == 0 {
		p.Aborted, wp.AbortedTransactions = []AbortedTransaction{}, []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		for range g.IntN(3) {
			a := AbortedTransaction{kafka.ProducerID(g.Uint64()), kafka.Offset(g.Uint64())}
			p.Aborted = append(p.Aborted, a)
			wp.AbortedTransactions = append(wp.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: int64(a.ProducerID), FirstOffset: int64(a.FirstOffset)})
		}
	}
	wp.RecordBatches = []byte{}
	if b := g.bytes(); b != nil {
		p.Records, wp.RecordBatches = BytesBody(b), b
	}
	if g.IntN(3) == 0 {
		p.Diverging = &DivergingEpoch{kafka.LeaderEpoch(g.IntN(9)), kafka.Offset(g.IntN(9))}
		wp.DivergingEpoch.Epoch, wp.DivergingEpoch.EndOffset = int32(p.Diverging.Epoch), int64(p.Diverging.EndOffset)
	}
	p.Leader, wp.CurrentLeader.LeaderID, wp.CurrentLeader.LeaderEpoch = g.leader()
	return p, wp
}

func TestProduceWriterAgreesWithKmsg(t *testing.T) {
	g := newGen(10)
	for i := range 2200 { // 200 of each version
		version := int16(3 + i%11)
		want := kmsg.NewPtrProduceResponse()
		want.Version, want.ThrottleMillis = version, int32(g.IntN(9))
		r, rec := answer(KeyProduce, version)
		resp := NewResponse(r)
		topics := g.IntN(4)
		w := BeginProduce(resp, version, topics)
		for range topics {
			wt := kmsg.ProduceResponseTopic{Topic: g.str(), TopicID: g.id()}
			n := g.IntN(4)
			w.Topic([]byte(wt.Topic), wt.TopicID, n)
			for range n {
				part, wp := g.produceAnswer(version)
				w.Partition(&part)
				wt.Partitions = append(wt.Partitions, wp)
			}
			want.Topics = append(want.Topics, wt)
		}
		ends := g.endpoints()
		w.End(want.ThrottleMillis, ends)
		if version >= 10 {
			for _, e := range ends {
				want.Brokers = append(want.Brokers, kmsg.ProduceResponseBroker{NodeID: int32(e.ID), Host: e.Host, Port: e.Port, Rack: orNil(e.Rack)})
			}
		}
		r.Reply(resp)
		if got := bodyOf(t, rec, KeyProduce, version); !bytes.Equal(got, want.AppendTo(nil)) {
			t.Fatalf("v%d, response %d: %d bytes differ from kmsg's %d", version, i, len(got), len(want.AppendTo(nil)))
		}
	}
}

func (g gen) produceAnswer(version int16) (ProduceResult, kmsg.ProduceResponseTopicPartition) {
	wp := kmsg.NewProduceResponseTopicPartition()
	wp.Partition, wp.ErrorCode, wp.BaseOffset = int32(g.IntN(9)), int16(g.IntN(99)), int64(g.Uint64())
	wp.LogAppendTime, wp.LogStartOffset = int64(g.Uint64()), int64(g.Uint64())
	p := ProduceResult{
		Index: wp.Partition, Err: kafka.ErrorCode(wp.ErrorCode), BaseOffset: kafka.Offset(wp.BaseOffset),
		LogAppendTimeMS: wp.LogAppendTime, LogStartOffset: kafka.Offset(wp.LogStartOffset), Message: g.str(),
	}
	wp.ErrorMessage = orNil(p.Message)
	for range g.IntN(3) {
		e := RecordError{int32(g.IntN(99)), g.str()}
		p.RecordErrors = append(p.RecordErrors, e)
		wp.ErrorRecords = append(wp.ErrorRecords, kmsg.ProduceResponseTopicPartitionErrorRecord{RelativeOffset: e.Index, ErrorMessage: orNil(e.Message)})
	}
	leader, id, epoch := g.leader()
	p.Leader = leader
	if version >= 10 {
		wp.CurrentLeader.LeaderID, wp.CurrentLeader.LeaderEpoch = id, epoch
	}
	return p, wp
}

// countedBody counts its releases.
type countedBody struct {
	bytesBody
	released *int
}

func (b countedBody) Release() { *b.released++ }

func TestBodiesAreReleasedOnce(t *testing.T) {
	released := 0
	r, _ := answer(KeyFetch, 12)
	resp := NewResponse(r)
	resp.AddBody(countedBody{bytesBody("x"), &released})
	resp.AddBody(countedBody{bytesBody(nil), &released}) // empty: at once
	if released != 1 {
		t.Fatalf("%d released, want the empty one", released)
	}
	resp.Release()
	if released != 2 {
		t.Fatalf("%d released after Release, want 2", released)
	}
}

func TestReplyMessageAndVersion(t *testing.T) {
	r, rec := answer(KeyAPIVersions, 99)
	m := kmsg.NewPtrApiVersionsResponse()
	m.ErrorCode = int16(kafka.ErrUnsupportedVersion)
	r.ReplyVersion(m, 0)
	if got := bodyOf(t, rec, KeyAPIVersions, 99); !bytes.Equal(got, []byte{0, 35, 0, 0, 0, 0}) {
		t.Errorf("body %x, want a v0 body with error 35", got)
	}
	r, rec = answer(3, 9)
	r.SetThrottle(5)
	r.ReplyMessage(kmsg.NewPtrMetadataResponse())
	got := kmsg.MetadataResponse{Version: 9}
	if err := rec.Message(&got); err != nil || got.ThrottleMillis != 5 {
		t.Errorf("throttle %d, error %v; want 5", got.ThrottleMillis, err)
	}
}

func TestSecondAnswerPanics(t *testing.T) {
	r, _ := answer(3, 9)
	r.ReplyNone()
	defer func() {
		if recover() == nil {
			t.Error("a request was answered twice and nobody noticed")
		}
	}()
	r.Drop(io.EOF)
}

// nowhere is a Sink that releases what it gets.
type nowhere struct{}

func (nowhere) Answer(resp *Response) { resp.Release() }
func (nowhere) Abort(error)           {}
func (nowhere) OnCancel(func())       {}
func (nowhere) ReleaseBody()          {}

func TestResponsesDoNotAllocate(t *testing.T) {
	var pool Responses
	var r Request
	var sink Sink = nowhere{}
	body := BytesBody(make([]byte, 100))
	part := FetchPartition{PreferredReadReplica: kafka.NoBroker, Records: body}
	result := ProduceResult{}
	name := []byte("topic")
	now := time.Now()
	fetch := func() {
		r.Init(Header{Key: KeyFetch, Version: 12}, nil, nil, now, sink, &pool)
		resp := NewResponse(&r)
		w := BeginFetch(resp, 12, FetchHead{}, 1)
		w.Topic(name, kafka.NoTopicID, 1)
		w.Partition(&part)
		w.End(nil)
		r.Reply(resp)
	}
	produce := func() {
		r.Init(Header{Key: KeyProduce, Version: 12}, nil, nil, now, sink, &pool)
		resp := NewResponse(&r)
		w := BeginProduce(resp, 12, 1)
		w.Topic(name, kafka.NoTopicID, 1)
		w.Partition(&result)
		w.End(0, nil)
		r.Reply(resp)
	}
	if n := testing.AllocsPerRun(1000, fetch); n != 0 {
		t.Errorf("fetch: %v allocs, want 0", n)
	}
	if n := testing.AllocsPerRun(1000, produce); n != 0 {
		t.Errorf("produce: %v allocs, want 0", n)
	}
}
