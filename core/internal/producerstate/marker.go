package producerstate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// txn is a transaction on this partition.
type txn struct {
	id          kafka.ProducerID
	first, last kafka.Offset // last: of the marker
}

// Marker is what a control batch says.
type Marker struct {
	ID               kafka.ProducerID
	Epoch            kafka.ProducerEpoch
	CoordinatorEpoch int32
	Offset           kafka.Offset
	TimestampMS      int64
	Abort            bool
}

// doneMax is how many ended transactions are remembered until the high watermark
// passes their markers.
const doneMax = 4096

// Completed is a transaction that a marker ended.
type Completed struct {
	First, Last kafka.Offset
	LastStable  kafka.Offset // with this transaction ended
	Abort       bool
}

// CheckMarker tells whether a marker may be appended.
func (s *State) CheckMarker(m *Marker, origin Origin) error {
	if origin == Replication {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.producers[m.ID]
	if e == nil {
		return nil
	}
	if err := s.checkEpoch(e, m.Epoch, m.Offset); err != nil {
		return err
	}
	if e.coordinatorEpoch > m.CoordinatorEpoch {
		return errCoordinatorFenced.Err(fmt.Sprintf(
			"Invalid coordinator epoch for producerId %d at offset %d in partition %s: %d (zombie), %d (current)",
			m.ID, m.Offset, s.tp, m.CoordinatorEpoch, e.coordinatorEpoch))
	}
	return nil
}

// errCoordinatorFenced is TRANSACTION_COORDINATOR_FENCED.
const errCoordinatorFenced kafka.ErrorCode = 52

// MarkerAppended takes a marker into account that is in the log now. ok tells
// that it ended a transaction which had data here.
func (s *State) MarkerAppended(m *Marker, nowMS int64) (c Completed, ok bool) {
	s.mu.Lock()
	e, fresh := s.get(m.ID)
	e.setEpoch(m.Epoch)
	e.coordinatorEpoch, e.timestamp = m.CoordinatorEpoch, m.TimestampMS
	e.seen(nowMS)
	if e.txnFirst != kafka.NoOffset {
		c, ok = Completed{First: e.txnFirst, Last: m.Offset, Abort: m.Abort, LastStable: m.Offset + 1}, true
		s.open = slices.DeleteFunc(s.open, func(t txn) bool { return t.id == m.ID })
		if len(s.open) > 0 {
			c.LastStable = s.open[0].first
		}
		s.done = append(s.done[max(0, len(s.done)-doneMax+1):], txn{m.ID, e.txnFirst, m.Offset})
		e.txnFirst = kafka.NoOffset
	}
	s.mu.Unlock()
	if fresh {
		s.budget.took(s, 1)
	}
	return c, ok
}

// FirstUnstable is the first offset of a transaction that is open, or whose
// marker is not below the high watermark yet; NoOffset if there is none. Ended
// transactions below highWatermark are forgotten.
//
// Cost without transactions: one lock.
func (s *State) FirstUnstable(highWatermark kafka.Offset) kafka.Offset {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = slices.DeleteFunc(s.done, func(t txn) bool { return t.last < highWatermark })
	first := kafka.NoOffset
	if len(s.open) > 0 {
		first = s.open[0].first
	}
	for _, t := range s.done {
		if first == kafka.NoOffset || t.first < first {
			first = t.first
		}
	}
	return first
}

// FirstOpen is the first offset of an open transaction, NoOffset if there is none.
func (s *State) FirstOpen() kafka.Offset {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		return kafka.NoOffset
	}
	return s.open[0].first
}

// begin notes an open transaction. Caller holds mu.
func (s *State) begin(id kafka.ProducerID, first kafka.Offset) {
	s.open = append(s.open, txn{id: id, first: first, last: kafka.NoOffset})
	slices.SortFunc(s.open, func(a, b txn) int { return cmp.Compare(a.first, b.first) })
}
