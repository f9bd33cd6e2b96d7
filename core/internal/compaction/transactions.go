package compaction

import (
	"cmp"
	"slices"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// transactions tells, batch after batch, what belongs to an aborted transaction and
// which markers have nothing left to mark, as Kafka's CleanedTransactionMetadata.
type transactions struct {
	waiting   []commitlog.Aborted // that begin further on, by first offset
	aborted   map[kafka.ProducerID]*abortedTransaction
	committed map[kafka.ProducerID]struct{} // that have data
	index     []commitlog.Aborted           // those that still count in the segment being written
}

// abortedTransaction is one whose marker was not seen yet.
type abortedTransaction struct {
	commitlog.Aborted
	data bool // a batch of it was seen
}

func newTransactions() *transactions {
	return &transactions{aborted: map[kafka.ProducerID]*abortedTransaction{}, committed: map[kafka.ProducerID]struct{}{}}
}

// add takes the aborted transactions of the offsets that come next.
func (t *transactions) add(list []commitlog.Aborted) {
	t.waiting = append(t.waiting, list...)
	slices.SortStableFunc(t.waiting, func(a, b commitlog.Aborted) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
}

// begin starts the transactions that begin up to offset.
func (t *transactions) begin(offset kafka.Offset) {
	n := 0
	for ; n < len(t.waiting) && t.waiting[n].FirstOffset <= offset; n++ {
		a := t.waiting[n]
		if t.aborted[a.ProducerID] == nil {
			t.aborted[a.ProducerID] = &abortedTransaction{Aborted: a}
		}
	}
	t.waiting = t.waiting[n:]
}

// discards takes the next batch into account, and tells whether it may go whatever
// its keys are.
func (t *transactions) discards(b record.Batch) (bool, error) {
	t.begin(b.LastOffset())
	if b.Control() {
		return t.marker(b)
	}
	if !b.Transactional() {
		return false, nil
	}
	if a := t.aborted[b.ProducerID()]; a != nil {
		a.data = true
		return true, nil
	}
	t.committed[b.ProducerID()] = struct{}{}
	return false, nil
}

// marker ends a transaction, and tells whether its marker has no data left.
func (t *transactions) marker(b record.Batch) (bool, error) {
	kind, ok, err := b.ControlTypeOf()
	if err != nil {
		return false, err
	}
	if !ok { // emptied by an earlier pass
		return true, nil
	}
	switch kind {
	case record.ControlAbort:
		a := t.aborted[b.ProducerID()]
		delete(t.aborted, b.ProducerID())
		if a != nil && a.data {
			t.index = append(t.index, a.Aborted)
			return false, nil
		}
		return true, nil
	case record.ControlCommit:
		_, data := t.committed[b.ProducerID()]
		delete(t.committed, b.ProducerID())
		return !data, nil
	}
	return false, nil
}

// takeIndex is the aborted transactions that ended in the segment that was written.
func (t *transactions) takeIndex() []commitlog.Aborted {
	list := t.index
	t.index = nil
	return list
}
