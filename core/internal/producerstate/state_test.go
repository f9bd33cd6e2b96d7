package producerstate

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

var tp = kafka.TopicPartition{Topic: "t", Partition: 3}

// sent is a data batch of n records.
func sent(id kafka.ProducerID, epoch kafka.ProducerEpoch, seq int32, base kafka.Offset, n int32) *Batch {
	return &Batch{ID: id, Epoch: epoch, BaseSequence: seq, LastSequence: (seq + n - 1) & maxSequence,
		Base: base, Last: base + kafka.Offset(n-1), MaxTimestamp: 1000 + int64(base)}
}

// accept checks and appends.
func accept(t *testing.T, s *State, b *Batch) {
	t.Helper()
	if _, dup, err := s.Check(b, Client); dup || err != nil {
		t.Fatalf("batch %+v: duplicate %v, %v", b, dup, err)
	}
	s.Appended(b, b.MaxTimestamp)
}

func TestSequenceRules(t *testing.T) { // protocol 3.2, 17 to 19 and 22
	for _, c := range []struct {
		name string
		b    *Batch
		want kafka.ErrorCode
	}{
		{"next", sent(7, 1, 10, 100, 1), kafka.None},
		{"gap", sent(7, 1, 11, 100, 1), kafka.ErrOutOfOrderSequenceNumber},
		{"older, not as it was", sent(7, 1, 3, 100, 2), kafka.ErrOutOfOrderSequenceNumber},
		{"epoch back", sent(7, 0, 10, 100, 1), kafka.ErrInvalidProducerEpoch},
		{"new epoch from 0", sent(7, 2, 0, 100, 1), kafka.None},
		{"new epoch from 5", sent(7, 2, 5, 100, 1), kafka.ErrOutOfOrderSequenceNumber},
		{"unknown producer with any number", sent(8, 0, 55, 100, 1), kafka.None},
	} {
		s := New(tp, NewBudget(0, nil))
		accept(t, s, sent(7, 1, 0, 0, 5))
		accept(t, s, sent(7, 1, 5, 5, 5))
		_, dup, err := s.Check(c.b, Client)
		if dup || code(err) != c.want {
			t.Errorf("%s: duplicate %v, %v; want %v", c.name, dup, err, c.want)
		}
		if _, _, err := s.Check(c.b, Replication); err != nil {
			t.Errorf("%s: a follower refused what its leader has: %v", c.name, err)
		}
	}
}

func code(err error) kafka.ErrorCode {
	var e *kafka.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return kafka.ErrUnknownServerError
	}
	return kafka.None
}

func TestSequenceWrapsToZero(t *testing.T) {
	s := New(tp, NewBudget(0, nil))
	accept(t, s, sent(7, 0, maxSequence-1, 0, 2)) // the last two numbers
	accept(t, s, sent(7, 0, 0, 2, 3))
	wrapping := sent(9, 0, maxSequence-1, 10, 4) // two before the wrap, two after it
	accept(t, s, wrapping)
	accept(t, s, sent(9, 0, 2, 14, 1))
	if d, dup, err := s.Check(wrapping, Client); !dup || err != nil || d.Base != 10 || d.Last != 13 {
		t.Fatalf("the wrapping batch again: %+v %v %v", d, dup, err)
	}
}

func TestLastFiveBatchesAreKnownAgain(t *testing.T) {
	s := New(tp, NewBudget(0, nil))
	for i := range int32(8) {
		accept(t, s, sent(7, 0, i*2, kafka.Offset(i)*10, 2))
	}
	for i := range int32(8) {
		d, dup, err := s.Check(sent(7, 0, i*2, 999, 2), Client)
		if i < 3 {
			if dup || code(err) != kafka.ErrOutOfOrderSequenceNumber {
				t.Errorf("batch %d: duplicate %v, %v; it is too old to be known", i, dup, err)
			}
			continue
		}
		want := Duplicate{Base: kafka.Offset(i) * 10, Last: kafka.Offset(i)*10 + 1, Timestamp: 1000 + int64(i)*10}
		if !dup || err != nil || d != want {
			t.Errorf("batch %d: %+v %v %v, want %+v", i, d, dup, err, want)
		}
	}
}

func TestOpenTransactionHoldsTheStableOffset(t *testing.T) { // protocol 3.3, 27 and 30
	s := New(tp, NewBudget(0, nil))
	data := func(id kafka.ProducerID, seq int32, at kafka.Offset) {
		b := sent(id, 0, seq, at, 1)
		b.Transactional = true
		accept(t, s, b)
	}
	data(1, 0, 10)
	data(2, 0, 11)
	if first := s.FirstOpen(); first != 10 {
		t.Fatalf("first unstable offset %d, want 10", first)
	}
	if _, _, err := s.Check(sent(1, 0, 1, 12, 1), Client); code(err) != kafka.ErrInvalidTxnState {
		t.Fatalf("a plain batch within a transaction: %v", err)
	}
	if n := s.Expire(1<<40, 1); n != 0 {
		t.Fatalf("%d producers with open transactions expired", n)
	}
	c, ok := s.MarkerAppended(&Marker{ID: 1, CoordinatorEpoch: 4, Offset: 12, Abort: true}, 0)
	if !ok || c != (Completed{First: 10, Last: 12, LastStable: 11, Abort: true}) {
		t.Fatalf("%+v %v", c, ok)
	}
	if at := s.FirstUnstable(12); at != 10 {
		t.Fatalf("first unstable is %d: the marker at 12 is not below the high watermark 12", at)
	}
	if at := s.FirstUnstable(13); at != 11 {
		t.Fatalf("first unstable is %d, want 11", at)
	}
	if err := s.CheckMarker(&Marker{ID: 1, CoordinatorEpoch: 3}, Coordinator); code(err) != errCoordinatorFenced {
		t.Fatalf("a marker of an old coordinator: %v", err)
	}
	if _, ok := s.MarkerAppended(&Marker{ID: 1, CoordinatorEpoch: 4, Offset: 13, Abort: true}, 0); ok {
		t.Fatal("a marker of an empty transaction made an aborted one")
	}
}

// kafkas are snapshots that a real Kafka 4.4 wrote.
var kafkas = []string{
	"0001a345cdd60000000100000000000f424000000000000200000000000000020000000000000174876e83e8ffffffffffffffffffffffff",
	"0001122e17950000000200000000000f424100030000000700000000000000040000000000000174876e8000ffffffffffffffffffffffff" +
		"00000000000f424000000000000200000000000000020000000000000174876e83e8ffffffffffffffffffffffff",
}

func TestSnapshotsOfKafka(t *testing.T) {
	for _, text := range kafkas {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		s := New(tp, NewBudget(0, nil))
		if err := s.Restore(raw, 0, 1<<40); err != nil {
			t.Fatal(err)
		}
		again := New(tp, NewBudget(0, nil))
		if err := again.Restore(s.Snapshot(), 0, 1<<40); err != nil {
			t.Fatal(err)
		}
		if got, want := s.Infos(), again.Infos(); len(got) == 0 || len(s.Snapshot()) != len(raw) || len(got) != len(want) || got[0] != want[0] {
			t.Fatalf("%+v became %+v", got, want)
		}
		if s.Len() == 1 && !bytes.Equal(s.Snapshot(), raw) {
			t.Fatalf("snapshot\n%x, Kafka's is\n%x", s.Snapshot(), raw)
		}
		if d, dup, err := s.Check(sent(1000000, 0, 2, 50, 1), Client); !dup || err != nil || d.Base != 2 {
			t.Fatalf("the last batch of Kafka's producer again: %+v %v %v", d, dup, err)
		}
	}
}

func TestDamagedSnapshotLeavesNothing(t *testing.T) {
	raw, _ := hex.DecodeString(kafkas[1])
	for i := range raw {
		s := New(tp, NewBudget(0, nil))
		bad := bytes.Clone(raw)
		bad[i] ^= 0x10
		if err := s.Restore(bad, 0, 0); !errors.Is(err, ErrBadSnapshot) || s.Len() != 0 {
			t.Fatalf("bit of byte %d: %v, %d producers", i, err, s.Len())
		}
		if err := s.Restore(raw[:i], 0, 0); !errors.Is(err, ErrBadSnapshot) {
			t.Fatalf("%d bytes: %v", i, err)
		}
	}
}

func TestExpiryGoesByTheBrokersClock(t *testing.T) {
	s := New(tp, NewBudget(0, nil))
	old, far := sent(1, 0, 0, 0, 1), sent(2, 0, 0, 1, 1)
	old.MaxTimestamp, far.MaxTimestamp = 5, 1<<50
	s.Appended(old, 10_000)
	s.Appended(far, 10_000)
	if n := s.Expire(10_999, 1000); n != 0 {
		t.Fatalf("%d expired although they were just used", n)
	}
	if n := s.Expire(11_000, 1000); n != 2 || s.Len() != 0 {
		t.Fatalf("%d expired, want both", n)
	}
}

func TestBudgetForgetsTheLongestIdle(t *testing.T) {
	budget := NewBudget(1000, nil)
	states := []*State{New(tp, budget), New(tp, budget), New(tp, budget)}
	open := sent(999_999, 0, 0, 0, 1)
	open.Transactional = true
	states[0].Appended(open, 0)
	for i := range 5000 {
		states[i%3].Appended(sent(kafka.ProducerID(i), 0, 0, kafka.Offset(i), 1), int64(i+1))
		if n := budget.Len(); n > 1001 {
			t.Fatalf("%d producers, the limit is 1000", n)
		}
	}
	all := 0
	for _, s := range states {
		all += s.Len()
		for _, p := range s.Infos() {
			if p.ProducerID != 999_999 && p.ProducerID < 3900 {
				t.Fatalf("producer %d stayed, and younger ones went", p.ProducerID)
			}
		}
	}
	if all != budget.Len() || states[0].FirstOpen() != 0 {
		t.Fatalf("%d producers, counted %d; open transaction at %d", all, budget.Len(), states[0].FirstOpen())
	}
	for _, s := range states {
		s.Reset()
	}
	if budget.Len() != 0 || len(budget.states) != 0 {
		t.Fatalf("%d left in the budget", budget.Len())
	}
}

func TestKnownProducerCostsNoAllocation(t *testing.T) {
	s := New(tp, NewBudget(0, nil))
	b := sent(7, 0, 0, 0, 1)
	accept(t, s, b)
	allocs := testing.AllocsPerRun(100, func() {
		b.BaseSequence++
		b.LastSequence++
		b.Base++
		b.Last++
		if _, _, err := s.Check(b, Client); err != nil {
			t.Fatal(err)
		}
		s.Appended(b, 5)
	})
	if allocs != 0 {
		t.Fatalf("%v allocations", allocs)
	}
}

// FuzzProducerSnapshot checks that a snapshot file is refused or understood, and
// that what was understood is written the same again.
func FuzzProducerSnapshot(f *testing.F) {
	for _, text := range kafkas {
		raw, _ := hex.DecodeString(text)
		f.Add(raw)
	}
	f.Add(New(tp, NewBudget(0, nil)).Snapshot())
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := New(tp, NewBudget(0, nil))
		if err := s.Restore(raw, 0, 0); err != nil {
			return
		}
		first := s.Snapshot()
		again := New(tp, NewBudget(0, nil))
		if err := again.Restore(first, 0, 0); err != nil {
			t.Fatalf("own snapshot refused: %v", err)
		}
		if !bytes.Equal(again.Snapshot(), first) {
			t.Fatal("a snapshot changed on the way through memory")
		}
	})
}

// TestTimesOfClientsDoNotOverflow holds that producers whose records carry absurd
// times are forgotten like others: after a restart those times are all there is.
func TestTimesOfClientsDoNotOverflow(t *testing.T) {
	const day, now = 86_400_000, 1_700_000_000_000
	s := New(tp, NewBudget(4, nil))
	for id := range kafka.ProducerID(20) {
		b := sent(id, 0, 0, kafka.Offset(id), 1)
		if b.MaxTimestamp = math.MinInt64; id%2 == 0 {
			b.MaxTimestamp = now
		}
		s.Appended(b, b.MaxTimestamp) // as a replay does
	}
	if n := s.Len(); n > 4 {
		t.Errorf("%d producers are remembered, the budget is 4", n)
	}
	s = New(tp, NewBudget(0, nil))
	b := sent(1, 0, 0, 0, 1)
	b.MaxTimestamp = math.MinInt64
	s.Appended(b, b.MaxTimestamp)
	snapshot := s.Snapshot()
	if n := s.Expire(now, day); n != 1 {
		t.Errorf("%d producers expired, want 1", n)
	}
	if err := s.Restore(snapshot, now, day); err != nil || s.Len() != 0 {
		t.Errorf("%d producers came back from the snapshot (%v), want none", s.Len(), err)
	}
}
