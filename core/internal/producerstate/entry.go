package producerstate

import "github.com/mortisemq/mortise/core/kafka"

// batchesKept is how many of a producer's last batches are remembered: as many
// as a client may have in flight.
const batchesKept = 5

const (
	noSequence int32               = -1
	noEpoch    kafka.ProducerEpoch = -1
)

// batch is one batch of a producer.
type batch struct {
	last      kafka.Offset
	timestamp int64
	delta     int32 // last offset minus base offset
	lastSeq   int32
}

func (b *batch) base() kafka.Offset { return b.last - kafka.Offset(b.delta) }

// firstSeq is the first record's sequence number, which wraps below zero.
func (b *batch) firstSeq() int32 { return (b.lastSeq - b.delta) & maxSequence }

// maxSequence is the number after which sequences start again at 0.
const maxSequence = 1<<31 - 1

// entry is one producer. The batches are a ring inside the entry, so that an
// append allocates nothing.
type entry struct {
	id               kafka.ProducerID
	txnFirst         kafka.Offset // of the open transaction, NoOffset if none
	timestamp        int64        // of the last batch or marker, by the record
	seenMS           int64        // of the last use, by the broker's clock
	coordinatorEpoch int32
	epoch            kafka.ProducerEpoch
	count            uint8 // batches in the ring
	newest           uint8 // index of the newest
	batches          [batchesKept]batch
}

func newEntry(id kafka.ProducerID) *entry {
	return &entry{id: id, txnFirst: kafka.NoOffset, timestamp: -1, coordinatorEpoch: -1, epoch: noEpoch}
}

// seen notes a use, by the broker's clock. When a log is read again the records'
// times stand in for it, and in those a client may have written anything.
func (e *entry) seen(ms int64) { e.seenMS = max(ms, 0) }

// last is the newest batch, nil if there is none.
func (e *entry) last() *batch {
	if e.count == 0 {
		return nil
	}
	return &e.batches[e.newest]
}

// lastSeq is the newest batch's last sequence number.
func (e *entry) lastSeq() int32 {
	if b := e.last(); b != nil {
		return b.lastSeq
	}
	return noSequence
}

// lastOffset is the newest batch's last offset.
func (e *entry) lastOffset() kafka.Offset {
	if b := e.last(); b != nil {
		return b.last
	}
	return kafka.NoOffset
}

// find is the remembered batch with exactly these sequence numbers.
func (e *entry) find(epoch kafka.ProducerEpoch, firstSeq, lastSeq int32) *batch {
	if epoch != e.epoch {
		return nil
	}
	for i := range e.count {
		b := &e.batches[i]
		if b.firstSeq() == firstSeq && b.lastSeq == lastSeq {
			return b
		}
	}
	return nil
}

// setEpoch begins a new epoch: batches of another one say nothing any more.
func (e *entry) setEpoch(epoch kafka.ProducerEpoch) {
	if e.epoch != epoch {
		e.count, e.epoch = 0, epoch
	}
}

// add remembers a batch and forgets the oldest of more than batchesKept.
func (e *entry) add(epoch kafka.ProducerEpoch, b batch) {
	e.setEpoch(epoch)
	if e.count == 0 {
		e.newest = 0
	} else {
		e.newest = (e.newest + 1) % batchesKept
	}
	e.batches[e.newest] = b
	e.count = min(e.count+1, batchesKept)
	e.timestamp = b.timestamp
}
