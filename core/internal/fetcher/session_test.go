package fetcher

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/wire"
)

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
