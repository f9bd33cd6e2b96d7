package fetcher

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

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
