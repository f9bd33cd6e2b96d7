package replicatest

import (
	"bytes"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// modelLog is what a Model's disk has of one partition.
type modelLog struct {
	batches []record.Batch
	base    kafka.Offset // of the first batch, or of the next when there is none
	start   kafka.Offset // records before it are deleted
	epochs  []modelEpoch // rising
	hw      kafka.Offset
	synced  int // of batches: they survive a power cut
}

// modelEpoch is where a leader epoch begins.
type modelEpoch struct {
	epoch kafka.LeaderEpoch
	start kafka.Offset
}

// end is the log end offset.
func (l *modelLog) end() kafka.Offset {
	if n := len(l.batches); n > 0 {
		return l.batches[n-1].NextOffset()
	}
	return l.base
}

func (l *modelLog) sync() { l.synced = len(l.batches) }

// lastEpoch is the epoch of the last batch.
func (l *modelLog) lastEpoch() kafka.LeaderEpoch {
	if n := len(l.batches); n > 0 {
		return l.batches[n-1].LeaderEpoch()
	}
	return kafka.NoLeaderEpoch
}

// append adds a batch that has its place.
func (l *modelLog) append(b record.Batch) {
	if len(l.batches) == 0 {
		l.base = b.BaseOffset()
	}
	l.begin(b.LeaderEpoch(), b.BaseOffset())
	l.batches = append(l.batches, bytes.Clone(b))
}

// begin notes an epoch.
func (l *modelLog) begin(epoch kafka.LeaderEpoch, start kafka.Offset) {
	n := len(l.epochs)
	if n > 0 && l.epochs[n-1].epoch >= epoch {
		return
	}
	if n > 0 && l.epochs[n-1].start == start {
		l.epochs = l.epochs[:n-1]
	}
	l.epochs = append(l.epochs, modelEpoch{epoch, start})
}

// cut drops everything from an offset on.
func (l *modelLog) cut(to kafka.Offset) {
	for n := len(l.batches); n > 0 && l.batches[n-1].LastOffset() >= to; n-- {
		l.batches = l.batches[:n-1]
	}
	l.base = min(l.base, to)
	l.synced = min(l.synced, len(l.batches))
	l.forgetEmptyEpochs()
	l.hw, l.start = min(l.hw, l.end()), min(l.start, l.end())
}

// forgetEmptyEpochs drops the epochs that have no batch: who led in one follows now.
func (l *modelLog) forgetEmptyEpochs() {
	end := l.end()
	l.epochs = slices.DeleteFunc(l.epochs, func(e modelEpoch) bool { return e.start >= end })
}

// epochEnd is the largest epoch that is at most asked, and where it ends. One before the
// first that is known ended where that begins: its records are deleted.
func (l *modelLog) epochEnd(asked kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset) {
	end := l.end()
	for i := len(l.epochs) - 1; i >= 0; i-- {
		if l.epochs[i].epoch <= asked {
			return l.epochs[i].epoch, end
		}
		end = l.epochs[i].start
	}
	if len(l.epochs) > 0 && asked >= 0 {
		return asked, end
	}
	return kafka.NoLeaderEpoch, kafka.NoOffset
}

// read is whole batches between two offsets.
func (l *modelLog) read(from, to kafka.Offset) [][]byte {
	i, _ := slices.BinarySearchFunc(l.batches, from, func(b record.Batch, at kafka.Offset) int { return int(b.LastOffset() - at) })
	var out [][]byte
	for _, b := range l.batches[i:] {
		if b.LastOffset() >= to {
			break
		}
		out = append(out, b)
	}
	return out
}

// find looks for a batch of an idempotent producer: the one with the sequence among
// its last five, and which sequence comes next.
func (l *modelLog) find(id kafka.ProducerID, sequence int32) (found record.Batch, next int32) {
	seen := 0
	for i := len(l.batches) - 1; i >= 0 && seen < 5; i-- {
		b := l.batches[i]
		if b.ProducerID() != id {
			continue
		}
		if seen++; seen == 1 {
			next = b.LastSequence() + 1
		}
		if b.BaseSequence() == sequence {
			return b, next
		}
	}
	return nil, next
}
