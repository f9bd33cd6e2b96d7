package api

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/wire"
)

// newTestSessions makes a cache of n slots on a clock of its own.
func newTestSessions(n int) (*fetchSessions, *clock.Manual) {
	m := clock.NewManual(time.UnixMilli(0))
	return newFetchSessions(m, nil, func() int { return n }, metrics.NewRegistry()), m
}

func TestKIP227EvictionRules(t *testing.T) {
	s, m := newTestSessions(2)
	large, small := s.create(false, false, 10), s.create(false, false, 3)
	if large == nil || small == nil {
		t.Fatal("no session although there is room")
	}
	if s.create(false, false, 100) != nil {
		t.Fatal("a fresh session was evicted: it is safe for two minutes")
	}
	m.Advance(evictionAge + time.Second)
	s.touch(large, 10)
	s.touch(small, 3)
	if s.create(false, false, 2) != nil {
		t.Fatal("a smaller newcomer took a larger session's place")
	}
	middle := s.create(false, false, 5)
	if middle == nil || s.get(small.id) != nil || s.get(large.id) == nil {
		t.Fatal("the smallest old session must make room")
	}
	m.Advance(evictionAge + time.Second)
	s.touch(middle, 5)
	if tiny := s.create(false, false, 1); tiny == nil || s.get(large.id) != nil || s.get(middle.id) == nil {
		t.Fatal("the session that nobody used must make room, whatever its size")
	}
}

func TestNoSlotsMeansNoSessions(t *testing.T) {
	s, _ := newTestSessions(0)
	if s.create(false, false, 1) != nil {
		t.Fatal("a session without slots")
	}
}

func TestSessionEpochWrapsToOne(t *testing.T) {
	if got := nextEpoch(math.MaxInt32); got != 1 {
		t.Fatalf("epoch after the largest is %d, want 1", got)
	}
	if got := nextEpoch(1); got != 2 {
		t.Fatalf("epoch after 1 is %d, want 2", got)
	}
}

// order lists the partitions of a session in reading order.
func order(f *fetchSession) (all []int32) {
	for p := f.order.next; p != &f.order; p = p.next {
		all = append(all, p.want.Index)
	}
	return all
}

func expectOrder(t *testing.T, f *fetchSession, want ...int32) {
	t.Helper()
	got := order(f)
	if len(got) != len(want) {
		t.Fatalf("order %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("order %v, want %v", got, want)
		}
	}
}

func TestSessionUpdateAndFairOrder(t *testing.T) {
	s, _ := newTestSessions(1)
	f := s.create(false, false, 3)
	name := []byte("t")
	for i := range int32(3) {
		f.put(name, kafka.NoTopicID, wire.FetchRange{Index: i})
	}
	name[0] = 'x' // the request's bytes are not the session's
	expectOrder(t, f, 0, 1, 2)

	gave := &wire.FetchPartition{HighWatermark: 5, Records: wire.BytesBody([]byte("r")), PreferredReadReplica: kafka.NoBroker}
	first := f.order.next
	if !f.tell(first, gave, true) {
		t.Fatal("records must be told")
	}
	expectOrder(t, f, 1, 2, 0)

	f.update(&wire.FetchRequest{
		Topics:    []wire.FetchTopic{{Name: []byte("t"), Partitions: []wire.FetchRange{{Index: 2, FetchOffset: 9}, {Index: 7}}}},
		Forgotten: []wire.ForgottenTopic{{Name: []byte("t"), Partitions: []int32{1, 55}}},
	})
	expectOrder(t, f, 2, 0, 7)
	if got := f.order.next.want.FetchOffset; got != 9 {
		t.Fatalf("fetch offset %d after the update, want 9", got)
	}
}

func TestSessionTellsOnlyWhatChanged(t *testing.T) {
	s, _ := newTestSessions(1)
	f := s.create(false, false, 1)
	p := f.put([]byte("t"), kafka.NoTopicID, wire.FetchRange{})
	answer := func(code kafka.ErrorCode, hw, start kafka.Offset) bool {
		return f.tell(p, &wire.FetchPartition{Err: code, HighWatermark: hw, LogStartOffset: start, PreferredReadReplica: kafka.NoBroker}, true)
	}
	steps := []struct {
		name      string
		code      kafka.ErrorCode
		hw, start kafka.Offset
		want      bool
	}{
		{"first answer", kafka.None, 5, 0, true},
		{"nothing new", kafka.None, 5, 0, false},
		{"high watermark", kafka.None, 6, 0, true},
		{"log start", kafka.None, 6, 3, true},
		{"nothing new again", kafka.None, 6, 3, false},
		{"error", kafka.ErrNotLeaderOrFollower, -1, -1, true},
		{"error again", kafka.ErrNotLeaderOrFollower, -1, -1, true},
		{"well again", kafka.None, 6, 3, true},
	}
	for _, st := range steps {
		if got := answer(st.code, st.hw, st.start); got != st.want {
			t.Fatalf("%s: told %v, want %v", st.name, got, st.want)
		}
	}
}

// Slots bound the sessions; the partitions of all of them are bounded, too.
func TestSessionPartitionsAreBounded(t *testing.T) {
	s, _ := newTestSessions(1000)
	large := s.create(false, false, sessionPartitionsMax-10)
	small := s.create(false, false, 10)
	if large == nil || small == nil {
		t.Fatal("no session although there is room")
	}
	if s.create(false, false, 1) != nil {
		t.Fatal("a session beyond the bound")
	}
	if s.touch(small, 11) || s.get(small.id) != nil {
		t.Fatal("a session grew beyond the bound and lives")
	}
	if !s.touch(large, 5) || s.create(false, false, 100) == nil {
		t.Fatal("no session although one became smaller")
	}
	s.remove(large.id)
	s.remove(large.id)
	if !s.touch(large, 1000) || s.total != 100 {
		t.Fatalf("%d partitions counted after a session was closed, want 100", s.total)
	}
}

func TestSessionKeepsNoImpossibleNames(t *testing.T) {
	s, _ := newTestSessions(1)
	f := s.create(false, false, 1)
	q := &wire.FetchRequest{Topics: []wire.FetchTopic{{Name: bytes.Repeat([]byte("x"), topicNameMax+1), Partitions: []wire.FetchRange{{}}}}}
	if f.update(q) || len(f.parts) != 0 {
		t.Fatal("a name that no topic can have was kept")
	}
	q.Topics[0].Name = q.Topics[0].Name[1:]
	if !f.update(q) || len(f.parts) != 1 {
		t.Fatal("the longest name was not kept")
	}
}

// A follower's session takes the place of a consumer's at once, and no consumer's that
// of a follower, unless it is unused.
func TestKIP227FollowersGoFirst(t *testing.T) {
	s, m := newTestSessions(2)
	old, consumer := s.create(true, true, 3), s.create(true, false, 5)
	if s.create(true, true, 1) == nil || s.get(consumer.id) != nil || s.get(old.id) == nil {
		t.Fatal("a follower's session must take the consumer's place")
	}
	if s.create(true, true, 100) != nil {
		t.Fatal("a fresh session of a follower was evicted")
	}
	m.Advance(evictionAge + time.Second)
	for _, f := range s.all {
		s.touch(f, f.size)
	}
	if s.create(true, false, 100) != nil {
		t.Fatal("a consumer's session took a follower's place")
	}
	m.Advance(evictionAge + time.Second)
	if s.create(true, false, 1) == nil {
		t.Fatal("an unused session holds its place")
	}
}
