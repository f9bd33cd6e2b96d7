package producerstate

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/mortisemq/mortise/core/kafka"
)

// State is the producers of one log. Its zero value is not ready: New.
type State struct {
	tp     kafka.TopicPartition
	budget *Budget

	mu        sync.Mutex
	producers map[kafka.ProducerID]*entry // nil while empty; guarded by mu
	open      []txn                       // open transactions by first offset; guarded by mu
	done      []txn                       // ended, maybe above the high watermark; guarded by mu
}

// New is an empty state. The partition's name goes into messages for clients.
func New(tp kafka.TopicPartition, budget *Budget) *State {
	return &State{tp: tp, budget: budget}
}

// Origin says how far a batch is checked.
type Origin uint8

const (
	Client      Origin = iota // epoch and sequence
	Replication               // nothing: the leader did
	Coordinator               // epoch only
)

// Batch is what the checks need of a data batch.
type Batch struct {
	ID            kafka.ProducerID
	Epoch         kafka.ProducerEpoch
	BaseSequence  int32
	LastSequence  int32
	Base, Last    kafka.Offset // as they will be in the log
	MaxTimestamp  int64
	Transactional bool
}

// Duplicate is where a batch that came again is.
type Duplicate struct {
	Base, Last kafka.Offset
	Timestamp  int64 // the original append's largest timestamp or append time
}

// Check tells whether b may be appended. dup is set when it was already, within
// the producer's last batchesKept batches. Errors are *kafka.Error.
//
// Hot: per idempotent batch. 0 allocs unless it fails.
func (s *State) Check(b *Batch, origin Origin) (dup Duplicate, is bool, err error) {
	if origin == Replication {
		return dup, false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.producers[b.ID]
	if e == nil {
		return dup, false, nil // any sequence number: the state may have expired
	}
	if origin == Client {
		if old := e.find(b.Epoch, b.BaseSequence, b.LastSequence); old != nil {
			return Duplicate{Base: old.base(), Last: old.last, Timestamp: old.timestamp}, true, nil
		}
	}
	if err := s.checkEpoch(e, b.Epoch, b.Base); err != nil {
		return dup, false, err
	}
	if origin == Client {
		if err := s.checkSequence(e, b); err != nil {
			return dup, false, err
		}
	}
	if e.txnFirst != kafka.NoOffset && !b.Transactional {
		return dup, false, kafka.ErrInvalidTxnState.Err(fmt.Sprintf(
			"Expected transactional write from producer %d at offset %d in partition %s", b.ID, b.Base, s.tp))
	}
	return dup, false, nil
}

// checkEpoch refuses a producer that was fenced by a newer one.
func (s *State) checkEpoch(e *entry, epoch kafka.ProducerEpoch, at kafka.Offset) error {
	if epoch >= e.epoch {
		return nil
	}
	return kafka.ErrInvalidProducerEpoch.Err(fmt.Sprintf(
		"Epoch of producer %d at offset %d in %s is %d, which is smaller than the last seen epoch %d",
		e.id, at, s.tp, epoch, e.epoch))
}

// checkSequence refuses gaps: the next number follows the last one, and a new
// epoch begins at 0.
func (s *State) checkSequence(e *entry, b *Batch) error {
	if b.Epoch != e.epoch {
		if b.BaseSequence != 0 && e.epoch != noEpoch {
			return kafka.ErrOutOfOrderSequenceNumber.Err(fmt.Sprintf(
				"Invalid sequence number for new epoch of producer %d at offset %d in partition %s: %d (request epoch), %d (seq. number), %d (current producer epoch)",
				b.ID, b.Base, s.tp, b.Epoch, b.BaseSequence, e.epoch))
		}
		return nil
	}
	last := e.lastSeq()
	if int64(b.BaseSequence) == int64(last)+1 || (b.BaseSequence == 0 && last == maxSequence) || e.epoch == noEpoch {
		return nil
	}
	return kafka.ErrOutOfOrderSequenceNumber.Err(fmt.Sprintf(
		"Out of order sequence number for producer %d at offset %d in partition %s: %d (incoming seq. number), %d (current end sequence number)",
		b.ID, b.Base, s.tp, b.BaseSequence, last))
}

// Appended takes a data batch into account that is in the log now.
//
// Hot: per idempotent batch. 0 allocs for a known producer.
func (s *State) Appended(b *Batch, nowMS int64) {
	s.mu.Lock()
	e, fresh := s.get(b.ID)
	e.add(b.Epoch, batch{last: b.Last, timestamp: b.MaxTimestamp, delta: int32(b.Last - b.Base), lastSeq: b.LastSequence})
	e.seen(nowMS)
	if b.Transactional && e.txnFirst == kafka.NoOffset {
		e.txnFirst = b.Base
		s.begin(b.ID, b.Base)
	}
	s.mu.Unlock()
	if fresh {
		s.budget.took(s, 1)
	}
}

// get finds or makes a producer. Caller holds mu.
func (s *State) get(id kafka.ProducerID) (e *entry, fresh bool) {
	if e = s.producers[id]; e != nil {
		return e, false
	}
	e = newEntry(id)
	s.put(e)
	return e, true
}

func (s *State) put(e *entry) {
	if s.producers == nil {
		s.producers = make(map[kafka.ProducerID]*entry)
	}
	s.producers[e.id] = e
}

// sorted is the producers by id. Caller holds mu.
func (s *State) sorted() []*entry {
	list := make([]*entry, 0, len(s.producers))
	for _, e := range s.producers {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.id, b.id) })
	return list
}

// Reset forgets everything.
func (s *State) Reset() {
	s.mu.Lock()
	n := len(s.producers)
	s.producers, s.open, s.done = nil, nil, nil
	s.mu.Unlock()
	s.budget.gave(s, n)
}

// Expire forgets producers that were silent for expiryMS or longer, and tells how
// many. A producer with an open transaction stays. The broker's clock counts, so
// that records dated far away are neither forgotten at once nor kept for ever.
func (s *State) Expire(nowMS, expiryMS int64) int {
	s.mu.Lock()
	n := 0
	for id, e := range s.producers {
		if e.txnFirst == kafka.NoOffset && nowMS-e.seenMS >= expiryMS {
			delete(s.producers, id)
			n++
		}
	}
	s.shrink()
	s.mu.Unlock()
	s.budget.gave(s, n)
	return n
}

// shrink gives an empty map back. Caller holds mu.
func (s *State) shrink() {
	if len(s.producers) == 0 {
		s.producers = nil
	}
}

// Len is the number of producers.
func (s *State) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.producers)
}

// Info describes a producer, for DescribeProducers.
type Info struct {
	ProducerID       kafka.ProducerID
	ProducerEpoch    kafka.ProducerEpoch
	LastSequence     int32
	LastTimestamp    int64 // ms
	CoordinatorEpoch int32
	// CurrentTxnFirstOffset is NoOffset without an open transaction.
	CurrentTxnFirstOffset kafka.Offset
	// LastOffset is that of the last batch, NoOffset if only a marker is known.
	LastOffset kafka.Offset
}

// Infos lists the producers by id.
func (s *State) Infos() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Info, 0, len(s.producers))
	for _, e := range s.sorted() {
		out = append(out, Info{e.id, e.epoch, e.lastSeq(), e.timestamp, e.coordinatorEpoch, e.txnFirst, e.lastOffset()})
	}
	return out
}
