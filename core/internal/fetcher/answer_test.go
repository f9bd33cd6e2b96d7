package fetcher

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

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
