package replicatest

import (
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// modelSegment is how many batches a Model takes for a segment.
const modelSegment = 8

// restart makes the log empty: the next batch has the offset, or begins before it.
func (l *modelLog) restart(at kafka.Offset) {
	l.batches, l.epochs, l.synced = nil, nil, 0
	l.base, l.start, l.hw = at, at, at
}

// trim moves the start, never back. The batches stay, as in a segment that is not
// deleted.
func (l *modelLog) trim(to kafka.Offset) { l.start = max(l.start, min(to, l.end())) }

// forgetTrim takes the start back to where the batches begin: what was not written down
// before the power was cut.
func (l *modelLog) forgetTrim() { l.start = min(l.start, l.base) }

// Earliest implements Replicas.
func (p *modelProcess) Earliest(id meta.PartitionID, epoch kafka.LeaderEpoch) (kafka.Offset, kafka.ErrorCode) {
	r := p.replicas[id]
	if code := r.admit(epoch); code != kafka.None {
		return kafka.NoOffset, code
	}
	return r.log.start, kafka.None
}

// DeleteRecords implements Replicas.
func (p *modelProcess) DeleteRecords(id meta.PartitionID, before kafka.Offset) (kafka.Offset, kafka.ErrorCode) {
	r := p.replicas[id]
	switch {
	case r == nil:
		return kafka.NoOffset, kafka.ErrUnknownTopicOrPartition
	case !r.leading:
		return kafka.NoOffset, kafka.ErrNotLeaderOrFollower
	case before > r.log.hw && p.env.Bug != DeleteUncommitted:
		return kafka.NoOffset, kafka.ErrOffsetOutOfRange
	}
	r.log.trim(before)
	return r.log.start, kafka.None
}

// Retain implements Replicas.
func (p *modelProcess) Retain(keep int) {
	for _, id := range p.held {
		r := p.replicas[id]
		if n := len(r.log.batches) - keep*modelSegment; r.leading && n > 0 {
			r.log.trim(min(r.log.batches[n-1].NextOffset(), r.log.hw))
		}
	}
}
