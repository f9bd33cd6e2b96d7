package fetcher

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// TestKIP227OnlyWhatChangedIsAskedFor: after the first request a session names only
// the partitions whose offset moved.
func TestKIP227OnlyWhatChangedIsAskedFor(t *testing.T) {
	a0, a1, b0 := newLog(topicA, 0), newLog(topicA, 1), newLog(topicB, 0)
	s := newScript(t, b0, a1, a0)
	q := s.fetch()
	if q.SessionID != 0 || q.SessionEpoch != 0 || len(q.Topics) != 2 || len(asks(q)) != 3 || q.ReplicaID != 2 || q.ReplicaEpoch != 77 ||
		q.MaxWaitMS != 500 || q.MinBytes != 1 || q.MaxBytes != 10<<20 {
		t.Fatalf("the first request is %+v", q)
	}
	want := wire.FetchRange{Index: 0, CurrentLeaderEpoch: 3, FetchOffset: 0, LastFetchedEpoch: -1, LogStartOffset: 0, MaxBytes: 1 << 20}
	if got := q.Topics[0].Partitions[0]; got != want {
		t.Fatalf("it asks for %+v, want %+v", got, want)
	}
	s.quiet()
	s.answer(9, 0, part{topic: topicA, index: 1, hw: 1, records: batches(0, 2, 2)}, part{topic: topicB, hw: 0})
	if a1.end != 2 || a1.hw != 1 || s.o.Stats.Lag.Load() != 0 {
		t.Fatalf("%+v, lag %d", a1, s.o.Stats.Lag.Load())
	}
	q = s.fetch()
	if all := asks(q); q.SessionID != 9 || q.SessionEpoch != 1 || len(all) != 1 || all[0].FetchOffset != 2 || all[0].LastFetchedEpoch != 2 {
		t.Fatalf("the second request is %+v", q)
	}
	s.answer(9, 0)
	if q = s.fetch(); q.SessionEpoch != 2 || len(asks(q)) != 0 || len(q.Forgotten) != 0 {
		t.Fatalf("the third request is %+v", q)
	}
	s.Unfollow(a1)
	s.quiet() // it may wait for the answer
	s.answer(9, 0, part{topic: topicA, index: 1, hw: 2, records: batches(2, 2, 1)})
	if a1.end != 2 {
		t.Error("a partition that is not followed got records")
	}
	if q = s.fetch(); len(q.Forgotten) != 1 || q.Forgotten[0].Partitions[0] != 1 {
		t.Fatalf("the fourth request is %+v", q)
	}
}

// TestNewPartitionDoesNotWaitForALongPoll: it goes out as a second request, and an
// answer to the first changes nothing of it.
func TestNewPartitionDoesNotWaitForALongPoll(t *testing.T) {
	a0, a1 := newLog(topicA, 0), newLog(topicA, 1)
	s := newScript(t, a0)
	s.fetch()
	s.Follow(a1)
	s.quiet() // the leader has no session yet
	s.answer(9, 0)
	if q := s.fetch(); len(asks(q)) != 1 {
		t.Fatalf("%+v", q)
	}
	b0 := newLog(topicB, 0)
	s.Follow(b0)
	if q := s.fetch(); q.SessionEpoch != 2 || len(q.Topics) != 1 || q.Topics[0].ID != topicB {
		t.Fatalf("%+v", q)
	}
	s.Follow(newLog(topicB, 1))
	s.quiet() // no third one
	s.answer(9, 0, part{topic: topicA, hw: 1, records: batches(0, 2, 1)})
	s.answer(9, 0, part{topic: topicA, hw: 1, records: batches(0, 2, 1)}, part{topic: topicB, hw: 1, records: batches(0, 2, 1)})
	if a0.end != 1 || b0.end != 1 || a0.appended != b0.appended {
		t.Fatalf("ends %d and %d, %d bytes: want the same records once", a0.end, b0.end, a0.appended)
	}
}

// TestRoleOfTheRequestCounts: what was fetched under a role that is over is dropped.
func TestRoleOfTheRequestCounts(t *testing.T) {
	a := newLog(topicA, 0)
	s := newScript(t, a)
	s.fetch()
	a.role = 4
	s.answer(9, 0, part{topic: topicA, hw: 1, records: batches(0, 3, 1)})
	if a.end != 0 {
		t.Fatal("records of an old role were appended")
	}
	s.Follow(a)
	if all := asks(s.fetch()); len(all) != 1 || all[0].CurrentLeaderEpoch != 4 {
		t.Fatalf("%+v", all)
	}
}

// TestSessionFaultsBeginAFullOne.
func TestSessionFaultsBeginAFullOne(t *testing.T) {
	for code, id := range map[kafka.ErrorCode]int32{kafka.ErrFetchSessionIDNotFound: 0, kafka.ErrInvalidFetchSessionEpoch: 9, kafka.ErrFetchSessionTopicIDError: 9} {
		a, b := newLog(topicA, 0), newLog(topicB, 0)
		s := newScript(t, a, b)
		s.fetch()
		s.answer(9, 0)
		s.fetch()
		s.answer(0, code)
		if q := s.fetch(); q.SessionID != id || q.SessionEpoch != 0 || len(asks(q)) != 2 {
			t.Errorf("after %s: %+v", code, q)
		}
	}
}

// A leader that refuses everything is asked again after each back-off, and complained
// of now and then only.
func TestRefusedRequestsRest(t *testing.T) {
	var text bytes.Buffer
	s := newScript(t, newLog(topicA, 0))
	s.o.Log = slog.New(slog.NewTextHandler(&text, nil))
	lines := func() int { return strings.Count(text.String(), "a leader refuses fetches") }
	for range 59 {
		s.fetch()
		s.answer(0, kafka.ErrUnknownServerError)
		s.quiet()
		s.now = s.now.Add(time.Second)
	}
	if lines() != 1 {
		t.Errorf("%d lines for a minute of refusals, want 1:\n%s", lines(), text.String())
	}
	s.fetch()
	s.answer(9, kafka.None)
	s.Follow(newLog(topicA, 0))
	s.fetch()
	s.answer(9, kafka.ErrUnknownServerError)
	if lines() != 2 {
		t.Errorf("%d lines, want one more after a good answer", lines())
	}
}

// TestWithoutASessionEveryRequestIsFull: a leader may have no room for one.
func TestWithoutASessionEveryRequestIsFull(t *testing.T) {
	s := newScript(t, newLog(topicA, 0), newLog(topicA, 1))
	for range 3 {
		if q := s.fetch(); q.SessionEpoch != 0 || len(asks(q)) != 2 {
			t.Fatalf("%+v", q)
		}
		s.answer(0, 0)
	}
}

// TestErrorsLeaveTheSessionForAWhile: a partition with an error is forgotten, rests,
// and rests longer each time; the others go on.
func TestErrorsLeaveTheSessionForAWhile(t *testing.T) {
	for _, code := range []kafka.ErrorCode{kafka.ErrNotLeaderOrFollower, kafka.ErrUnknownLeaderEpoch, kafka.ErrUnknownTopicID, kafka.ErrKafkaStorageError} {
		a, b := newLog(topicA, 0), newLog(topicB, 0)
		s := newScript(t, a, b)
		s.fetch()
		var rests []time.Duration
		for range 10 {
			s.answer(9, 0, part{topic: topicA, code: code})
			if q := s.fetch(); len(q.Forgotten) != 1 || len(asks(q)) != 0 {
				t.Fatalf("%s: %+v", code, q)
			}
			at, ok := s.Wake()
			if !ok {
				t.Fatalf("%s: it rests for ever", code)
			}
			rests = append(rests, at.Sub(s.now))
			s.now = at
			if q := s.fetch(); len(asks(q)) != 1 { // beside the long poll
				t.Fatalf("%s: %+v", code, q)
			}
			s.answer(9, 0)
		}
		want := []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, time.Second}
		if code == kafka.ErrKafkaStorageError {
			want = []time.Duration{time.Second, time.Second, time.Second}
		}
		if got := []time.Duration{rests[0], rests[1], rests[9]}; !slices.Equal(got, want) {
			t.Errorf("%s: rests %v, want %v", code, got, want)
		}
	}
}

// TestKIP595DivergingEpochTruncates.
func TestKIP595DivergingEpochTruncates(t *testing.T) {
	a := newLog(topicA, 0)
	a.end, a.last = 10, 2
	s := newScript(t, a)
	s.fetch()
	s.answer(9, 0, part{topic: topicA, hw: 7, diverging: &wire.DivergingEpoch{Epoch: 1, EndOffset: 6}})
	if len(a.cuts) != 1 || a.end != 6 {
		t.Fatalf("%+v", a)
	}
	if all := asks(s.fetch()); len(all) != 1 || all[0].FetchOffset != 6 || all[0].LastFetchedEpoch != 1 {
		t.Fatalf("%+v", all)
	}
}

// TestOutOfRange: Kafka's three cases.
func TestOutOfRange(t *testing.T) {
	for _, c := range []struct {
		name                    string
		leaderStart, leaderEnd  int64
		start, end              kafka.Offset
		cut                     string
		asksForStart, waitsThen bool
	}{
		{name: "beyond the leader's end", leaderStart: 0, leaderEnd: 4, start: 2, end: 4, cut: "diverging"},
		{name: "before the leader's start", leaderStart: 50, leaderEnd: 60, start: 50, end: 50, cut: "fully", asksForStart: true},
		{name: "in between again", leaderStart: 5, leaderEnd: 60, start: 2, end: 10, asksForStart: true, waitsThen: true},
	} {
		a := newLog(topicA, 0)
		a.start, a.end, a.last = 2, 10, 2
		s := newScript(t, a)
		s.fetch()
		s.answer(9, 0, part{topic: topicA, code: kafka.ErrOffsetOutOfRange})
		s.list(c.name, -1)
		s.offsets(a.tp, 0, c.leaderEnd)
		if c.asksForStart {
			s.list(c.name, -2)
			s.offsets(a.tp, 0, c.leaderStart)
		}
		if a.start != c.start || a.end != c.end || len(a.cuts) > 1 || cmp.Or(append(a.cuts, "")...) != c.cut {
			t.Errorf("%s: %+v", c.name, a)
		}
		if c.waitsThen {
			at, _ := s.Wake()
			s.now = at
		}
		if all := asks(s.fetch()); len(all) != 1 || all[0].FetchOffset != c.end {
			t.Errorf("%s: then %+v", c.name, all)
		}
	}
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

// TestFencedWaitsForANewRole: the leader knows a newer epoch, so only the cluster's
// next picture helps. Until then the partition counts as failed.
func TestFencedWaitsForANewRole(t *testing.T) {
	a, b := newLog(topicA, 0), newLog(topicB, 0)
	s := newScript(t, a, b)
	s.fetch()
	s.answer(9, 0, part{topic: topicA, code: kafka.ErrFencedLeaderEpoch})
	if _, waits := s.Wake(); waits || s.o.Stats.Failed.Load() != 1 {
		t.Fatal("it would try again")
	}
	if q := s.fetch(); len(q.Forgotten) != 1 {
		t.Fatalf("%+v", q)
	}
	a.role = 4
	s.Follow(a)
	if all := asks(s.fetch()); len(all) != 1 || all[0].CurrentLeaderEpoch != 4 || s.o.Stats.Failed.Load() != 0 {
		t.Fatalf("%+v", all)
	}
}

// TestDeadDiskCostsItsPartition.
func TestDeadDiskCostsItsPartition(t *testing.T) {
	a, b := newLog(topicA, 0), newLog(topicB, 0)
	b.offline = errors.New("no disk")
	s := newScript(t, a, b)
	if all := asks(s.fetch()); len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	a.refuse, a.offline = kafka.ErrKafkaStorageError.Err(""), errors.New("no disk")
	s.answer(9, 0, part{topic: topicA, hw: 1, records: batches(0, 2, 1)})
	s.quiet()
	if s.o.Stats.Failed.Load() != 2 {
		t.Fatalf("%d failed", s.o.Stats.Failed.Load())
	}
	s.Close()
	if st := s.o.Stats; st.Failed.Load() != 0 || st.Partitions.Load() != 0 || st.Lag.Load() != 0 {
		t.Error("closed sessions are still counted")
	}
}

// TestFullDiskPasses: a follower whose disk is full for a while goes on when it is not.
func TestFullDiskPasses(t *testing.T) {
	a := newLog(topicA, 0)
	s := newScript(t, a)
	s.fetch()
	a.refuse = kafka.ErrKafkaStorageError.Err("")
	s.answer(9, 0, part{topic: topicA, hw: 1, records: batches(0, 2, 1)})
	s.quiet()
	at, ok := s.Wake()
	if !ok || s.o.Stats.Failed.Load() != 0 {
		t.Fatalf("%d failed, a rest that ends: %v", s.o.Stats.Failed.Load(), ok)
	}
	a.refuse, s.now = nil, at
	if all := asks(s.fetch()); len(all) != 1 || all[0].FetchOffset != 0 {
		t.Fatalf("%+v", all)
	}
}

// TestHalfABatchIsLeft: what follows the last whole batch is asked for again.
func TestHalfABatchIsLeft(t *testing.T) {
	a := newLog(topicA, 0)
	s := newScript(t, a)
	s.fetch()
	records := batches(0, 2, 3)
	s.answer(9, 0, part{topic: topicA, hw: 3, records: records[:len(records)-5]})
	if a.end != 2 || s.o.Stats.Lag.Load() != 1 {
		t.Fatalf("%+v", a)
	}
	s.fetch()
	s.answer(9, 0, part{topic: topicA, hw: 3, records: records[:5]})
	if _, rests := s.Wake(); !rests || a.end != 2 {
		t.Fatal("no whole batch is no fault")
	}
}

// TestRecordsThatAreNotTakenAreNotAskedForAtOnce: they would come again at the speed of
// the network.
func TestRecordsThatAreNotTakenAreNotAskedForAtOnce(t *testing.T) {
	a := newLog(topicA, 0)
	a.deaf = true
	s := newScript(t, a, newLog(topicB, 0))
	s.fetch()
	s.answer(9, 0, part{topic: topicA, hw: 1, records: batches(0, 9, 1)})
	if q := s.fetch(); len(q.Forgotten) != 1 || len(asks(q)) != 0 {
		t.Fatalf("%+v", q)
	}
}

// TestWrongAnswersEndTheConnection.
func TestWrongAnswersEndTheConnection(t *testing.T) {
	a := newLog(topicA, 0)
	s := newScript(t, a)
	if err := s.Handle(s.now, nil); !errors.Is(err, ErrAnswer) {
		t.Errorf("nobody asked: %v", err)
	}
	s.fetch()
	frame := s.frameOf(9, 0, part{topic: topicA, hw: 1})
	frame[3]++ // correlation
	if err := s.Handle(s.now, frame); !errors.Is(err, ErrAnswer) {
		t.Errorf("another correlation id: %v", err)
	}
	s.Disconnected()
	s.fetch()
	frame = s.frameOf(9, 0, part{topic: topicA, hw: 1})
	if err := s.Handle(s.now, frame[:len(frame)-3]); !errors.Is(err, ErrAnswer) || !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a cut answer: %v", err)
	}
	s.Disconnected()
	if q := s.fetch(); q.SessionID != 0 || q.SessionEpoch != 0 || len(asks(q)) != 1 {
		t.Errorf("after a lost connection: %+v", q)
	}
}

// TestNothingToFollowAsksNothing.
func TestNothingToFollowAsksNothing(t *testing.T) {
	a := newLog(topicA, 0)
	s := newScript(t, a)
	s.fetch()
	s.answer(9, 0)
	s.Unfollow(a)
	s.quiet()
	s.Follow(a)
	if q := s.fetch(); q.SessionID != 9 || q.SessionEpoch != 0 { // the old session may go
		t.Errorf("%+v", q)
	}
}

// TestDiskIsWaitedForOnce: an answer with several partitions costs the time of one flush,
// and nothing is asked for before it is over.
func TestDiskIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs []*log
		var parts []part
		for i := range int32(8) {
			l := newLog(topicA, i)
			l.flush = func(f *partition.Flush) {
				time.Sleep(time.Millisecond) // fake time
				f.Synced(nil)
			}
			logs, parts = append(logs, l), append(parts, part{topic: topicA, index: i, hw: 1, records: batches(0, 3, 1)})
		}
		s := newScript(t, logs...)
		s.fetch()
		begin := time.Now()
		s.answer(9, 0, parts...)
		if d := time.Since(begin); d != time.Millisecond {
			t.Errorf("the disk was waited for %v, want one flush of 1 ms", d)
		}
		if all := asks(s.fetch()); len(all) != len(logs) || all[0].FetchOffset != 1 {
			t.Errorf("%+v", all)
		}
	})
}

// TestFailedFlushIsNotFetchedOn: the leader does not hear of records that the disk may not
// have; the other partitions of the answer go on. Nor is a damaged answer a way around.
func TestFailedFlushIsNotFetchedOn(t *testing.T) {
	good, bad := newLog(topicA, 0), newLog(topicA, 1)
	good.flush = func(f *partition.Flush) { f.Synced(nil) }
	bad.flush = func(f *partition.Flush) {
		bad.offline = errors.New("input/output error")
		f.Synced(bad.offline)
	}
	s := newScript(t, good, bad)
	s.fetch()
	frame := s.frameOf(9, 0, part{topic: topicA, index: 1, hw: 1, records: batches(0, 3, 1)}, part{topic: topicA, hw: 1, records: batches(0, 3, 1)})
	if err := s.Handle(s.now, frame[:len(frame)-1]); !errors.Is(err, ErrAnswer) {
		t.Fatalf("a damaged answer: %v", err)
	}
	s.Disconnected()
	if all := asks(s.fetch()); len(all) != 1 || all[0].Index != 0 || all[0].FetchOffset != 1 || s.o.Stats.Failed.Load() != 1 {
		t.Errorf("%+v, %d failed", all, s.o.Stats.Failed.Load())
	}
}

// TestStepDoesNotAllocate: an answer with records, and the next request.
func TestStepDoesNotAllocate(t *testing.T) {
	a := newLog(topicA, 0)
	s := newScript(t, a, newLog(topicB, 0))
	s.Next(s.now)
	s.answer(9, 0)
	s.Next(s.now)
	frame := s.frameOf(9, 0, part{topic: topicA, hw: 4, records: batches(0, 3, 4)})
	step := func() {
		a.end = 0
		f := s.parts[key{topicA, 0}]
		s.flights[0].number, f.in, f.sent.FetchOffset = 2, 2, 0 // so that the frame fits again
		if err := s.Handle(s.now, frame); err != nil || a.end != 4 {
			t.Fatal(a.end, err)
		}
		s.Next(s.now)
	}
	step()
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%v allocs, want 0", n)
	}
}

func FuzzHandle(f *testing.F) {
	seed := newScript(nil, newLog(topicA, 0))
	seed.Next(seed.now)
	f.Add(seed.frameOf(9, 0, part{topic: topicA, hw: 1, records: batches(0, 2, 2)}))
	f.Add(seed.frameOf(9, 0, part{topic: topicA, code: kafka.ErrOffsetOutOfRange}))
	f.Add(seed.frameOf(0, kafka.ErrFetchSessionIDNotFound))
	f.Fuzz(func(t *testing.T, frame []byte) {
		a := newLog(topicA, 0)
		s := newScript(t, a)
		s.Next(s.now)
		err := s.Handle(s.now, frame)
		if err != nil && !errors.Is(err, ErrAnswer) {
			t.Fatal(err)
		}
		s.Next(s.now)
		if int(a.end)*record.HeaderSize > len(frame) && a.cuts == nil {
			t.Fatalf("end %d out of %d bytes", a.end, len(frame))
		}
	})
}
