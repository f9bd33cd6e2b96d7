package fetcher

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/wire"
)

// topicA and topicB are the topics of these tests.
var topicA, topicB = kafka.TopicID{1}, kafka.TopicID{2}

// log is a Replica in memory: batches are their offsets.
type log struct {
	tp         kafka.TopicPartition
	id         kafka.TopicID
	start, end kafka.Offset
	last, role kafka.LeaderEpoch
	hw         kafka.Offset
	appended   int  // bytes
	deaf       bool // takes nothing, and says nothing
	refuse     error
	offline    error
	flush      func(*partition.Flush) // nil: nobody waits for the disk
	cuts       []string
}

func (l *log) TopicPartition() kafka.TopicPartition { return l.tp }
func (l *log) TopicID() kafka.TopicID               { return l.id }
func (l *log) Offline() error                       { return l.offline }
func (l *log) StartOffset() kafka.Offset            { return l.start }
func (l *log) FetchState() (kafka.Offset, kafka.LeaderEpoch, kafka.LeaderEpoch) {
	return l.end, l.last, l.role
}

func (l *log) AppendAsFollower(b []byte, role kafka.LeaderEpoch, hw, start kafka.Offset, disk *partition.Flush) (kafka.Offset, error) {
	if l.flush != nil && len(b) > 0 {
		disk.Begin()
		go l.flush(disk)
	}
	if l.refuse != nil {
		return 0, l.refuse
	}
	if role != l.role {
		return 0, partition.ErrStaleRole
	}
	for len(b) > 0 && !l.deaf {
		batch, rest, err := record.Next(b)
		if err != nil || batch.BaseOffset() != l.end {
			return 0, errors.New("gap")
		}
		l.end, l.last, l.appended, b = batch.NextOffset(), batch.LeaderEpoch(), l.appended+len(batch), rest
	}
	l.hw, l.start = min(hw, l.end), max(l.start, start)
	return l.end, nil
}

func (l *log) TruncateForDivergence(_, epoch kafka.LeaderEpoch, end kafka.Offset) error {
	l.cuts = append(l.cuts, "diverging")
	l.end, l.last = min(l.end, end), epoch
	return l.refuse
}

func (l *log) TruncateFully(_ kafka.LeaderEpoch, to kafka.Offset) error {
	l.cuts = append(l.cuts, "fully")
	l.start, l.end, l.last = to, to, kafka.NoLeaderEpoch
	return l.refuse
}

// newLog is an empty log of a topic.
func newLog(id kafka.TopicID, partition int32) *log {
	return &log{tp: kafka.TopicPartition{Topic: "t" + string('0'+rune(id[0])), Partition: partition}, id: id, last: kafka.NoLeaderEpoch, role: 3}
}

// script drives a session as a leader would.
type script struct {
	*testing.T
	*Session
	now time.Time
}

func newScript(t *testing.T, logs ...*log) *script {
	c := config.Replication{FetchMaxBytes: 1 << 20, FetchResponseMaxBytes: 10 << 20, FetchMinBytes: 1, FetchWaitMaxMS: 500, FetchBackoffMS: 1000}
	s := &script{T: t, now: time.Unix(1000, 0), Session: NewSession(Options{Self: 2, Leader: 1, Name: "broker-2-fetcher-0",
		Epoch: func() kafka.BrokerEpoch { return 77 }, Config: func() config.Replication { return c },
		Log: slog.New(slog.DiscardHandler), Stats: NewStats(metrics.NewRegistry())})}
	for _, l := range logs {
		s.Follow(l)
	}
	return s
}

// fetch expects a Fetch and decodes it.
func (s *script) fetch() *wire.FetchRequest {
	s.Helper()
	key, body := s.request()
	var q wire.FetchRequest
	if err := wire.DecodeFetch(&q, wire.FollowerVersion, body); key != wire.KeyFetch || err != nil {
		s.Fatalf("key %d: %v", key, err)
	}
	return &q
}

// request expects a request.
func (s *script) request() (key int16, body []byte) {
	s.Helper()
	frame := s.Next(s.now)
	if frame == nil {
		s.Fatal("nothing is sent")
	}
	if n := int(binary.BigEndian.Uint32(frame)); n != len(frame)-4 {
		s.Fatalf("length %d of a frame of %d bytes", n, len(frame))
	}
	var h wire.Header
	body, err := wire.DecodeHeader(&h, frame[4:])
	if err != nil {
		s.Fatal(err)
	}
	return h.Key, slices.Clone(body)
}

// quiet expects that nothing is sent.
func (s *script) quiet() {
	s.Helper()
	if f := s.Next(s.now); f != nil {
		s.Fatalf("%d bytes are sent, want none", len(f))
	}
}

// part is one partition of an answer.
type part struct {
	topic     kafka.TopicID
	index     int32
	code      kafka.ErrorCode
	hw, start int64
	records   []byte
	diverging *wire.DivergingEpoch
}

// frameOf is the answer to the oldest request.
func (s *script) frameOf(session int32, code kafka.ErrorCode, parts ...part) []byte {
	r := kmsg.NewPtrFetchResponse()
	r.Version, r.SessionID, r.ErrorCode = wire.FollowerVersion, session, int16(code)
	for _, p := range parts {
		t, out := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		t.TopicID = p.topic
		out.Partition, out.ErrorCode, out.HighWatermark, out.LogStartOffset, out.RecordBatches = p.index, int16(p.code), p.hw, p.start, p.records
		if p.diverging != nil {
			out.DivergingEpoch.Epoch, out.DivergingEpoch.EndOffset = int32(p.diverging.Epoch), int64(p.diverging.EndOffset)
		}
		t.Partitions = append(t.Partitions, out)
		r.Topics = append(r.Topics, t)
	}
	return r.AppendTo(s.head())
}

// head is the head of the answer to the oldest request.
func (s *script) head() []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(correlation(s.flights[0].number))), 0)
}

// answer answers the oldest request.
func (s *script) answer(session int32, code kafka.ErrorCode, parts ...part) {
	s.Helper()
	if err := s.Handle(s.now, s.frameOf(session, code, parts...)); err != nil {
		s.Fatal(err)
	}
}

// offsets answers a ListOffsets.
func (s *script) offsets(tp kafka.TopicPartition, code kafka.ErrorCode, offset int64) {
	s.Helper()
	r := kmsg.NewPtrListOffsetsResponse()
	r.Version = wire.FollowerOffsetsVersion
	t, p := kmsg.NewListOffsetsResponseTopic(), kmsg.NewListOffsetsResponseTopicPartition()
	t.Topic, p.Partition, p.ErrorCode, p.Offset = tp.Topic, tp.Partition, int16(code), offset
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	if err := s.Handle(s.now, r.AppendTo(s.head())); err != nil {
		s.Fatal(err)
	}
}

// batches are n batches of one record from an offset on.
func batches(from kafka.Offset, epoch kafka.LeaderEpoch, n int) (b []byte) {
	for i := range n {
		builder := record.NewBuilder(record.PlainOptions(0))
		builder.Append(1, []byte("k"), []byte("v"), nil)
		batch := builder.Bytes()
		batch.Assign(from+kafka.Offset(i), epoch)
		b = append(b, batch...)
	}
	return b
}

// asks are the partitions of a request as "topic/partition@offset".
func asks(q *wire.FetchRequest) (all []wire.FetchRange) {
	for i := range q.Topics {
		all = append(all, q.Topics[i].Partitions...)
	}
	return all
}

// list expects a ListOffsets.
func (s *script) list(name string, timestamp int64) {
	s.Helper()
	key, body := s.request()
	q := kmsg.ListOffsetsRequest{Version: wire.FollowerOffsetsVersion}
	if err := q.ReadFrom(body); key != 2 || err != nil || q.ReplicaID != 2 || q.Topics[0].Partitions[0].Timestamp != timestamp || q.Topics[0].Partitions[0].CurrentLeaderEpoch != 3 {
		s.Fatalf("%s: key %d %+v: %v", name, key, q, err)
	}
	s.quiet()
}
