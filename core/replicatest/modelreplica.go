package replicatest

import (
	"slices"

	"github.com/mortisemq/mortise/core/internal/isr"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
)

// modelReplica is one partition of a modelProcess.
type modelReplica struct {
	process *modelProcess
	id      meta.PartitionID
	log     *modelLog

	leading        bool
	leader         kafka.BrokerID
	epoch          kafka.LeaderEpoch
	partitionEpoch kafka.PartitionEpoch
	minISR         int

	began   kafka.Offset // where the epoch began; of a leader
	state   *isr.State   // of a leader
	asked   kafka.PartitionEpoch
	waiting []modelWait

	stuck   bool // the disk was full when it was to append something as a follower
	leaving bool // asked for, and not answered yet
}

// modelWait is a producer that waits until everything below end is committed.
type modelWait struct {
	end  kafka.Offset
	done func(kafka.ErrorCode)
}

// assign takes a role.
func (r *modelReplica) assign(s *meta.Partition, minISR int) {
	r.minISR = minISR
	if s.PartitionEpoch < r.partitionEpoch {
		return // an answer has told more than the image
	}
	now := r.process.env.Now()
	again := r.leading && s.LeaderEpoch == r.epoch
	moved := s.LeaderEpoch != r.epoch || s.Leader != r.leader
	settled := s.PartitionEpoch != r.partitionEpoch
	r.leader, r.epoch, r.partitionEpoch = s.Leader, s.LeaderEpoch, s.PartitionEpoch
	switch {
	case s.Leader != r.process.env.ID:
		r.resign()
		r.log.forgetEmptyEpochs()
		if moved && r.process.env.Bug == TruncateToHighWatermark {
			r.log.cut(r.log.hw)
		}
	case again:
		if settled {
			r.state.Assign(s.Replicas, s.ISR)
		}
	default:
		r.refuse(kafka.ErrNotLeaderOrFollower)
		r.leading, r.began = true, r.log.end()
		r.log.begin(r.epoch, r.began)
		r.state = isr.Lead(r.process.env.ID, s.Replicas, s.ISR, r.began, now)
	}
	if r.leading {
		r.advance()
		if s.Recovering {
			r.recovered(s)
		}
	}
}

// recovered ends what an unclean election began.
func (r *modelReplica) recovered(s *meta.Partition) {
	if !r.state.Pending() {
		me := []meta.ISRReplica{{ID: r.process.env.ID, Epoch: -1}}
		r.state.Asked(me)
		r.asked = r.partitionEpoch
		r.process.env.ProposeISR(meta.ISRChange{PartitionID: r.id, LeaderEpoch: r.epoch, PartitionEpoch: s.PartitionEpoch,
			ISR: me, Recovered: true})
	}
}

// resign stops leading.
func (r *modelReplica) resign() {
	r.leading = false
	r.refuse(kafka.ErrNotLeaderOrFollower)
}

// refuse answers everybody who waits.
func (r *modelReplica) refuse(code kafka.ErrorCode) {
	all := r.waiting
	r.waiting = nil
	for _, w := range all {
		w.done(code)
	}
}

// admit checks what a reader knows.
func (r *modelReplica) admit(epoch kafka.LeaderEpoch) kafka.ErrorCode {
	switch {
	case r == nil:
		return kafka.ErrUnknownTopicOrPartition
	case epoch < r.epoch:
		return kafka.ErrFencedLeaderEpoch
	case epoch > r.epoch:
		return kafka.ErrUnknownLeaderEpoch
	case !r.leading:
		return kafka.ErrNotLeaderOrFollower
	}
	return kafka.None
}

func (r *modelReplica) rules() *isr.Rules {
	rules := &isr.Rules{MinISR: r.minISR, Lag: r.process.env.LagMax, Eligible: r.process.eligible}
	if r.process.env.Bug == IgnoreMinISR {
		rules.MinISR = 1
	}
	return rules
}

// advance moves the high watermark, and answers whom it has passed.
func (r *modelReplica) advance() {
	r.log.hw = max(r.log.hw, r.state.HighWatermark(r.log.hw, r.log.end(), r.process.env.Now(), r.rules()))
	for len(r.waiting) > 0 && r.waiting[0].end <= r.log.hw {
		w := r.waiting[0]
		r.waiting = r.waiting[1:]
		if r.state.UnderMin(r.rules().MinISR) {
			w.done(kafka.ErrNotEnoughReplicasAfterAppend)
		} else {
			w.done(kafka.None)
		}
	}
}

// append is a producer's batch.
func (r *modelReplica) append(b record.Batch, acks int16, done func(Appended)) {
	base, end := r.log.end(), kafka.Offset(0)
	if b.ProducerID() >= 0 && r.process.env.Bug != IgnoreDuplicates {
		found, next := r.log.find(b.ProducerID(), b.BaseSequence())
		switch {
		case found != nil:
			base, end = found.BaseOffset(), found.NextOffset()
		case next == 0 && r.log.base > 0: // what it knew of the producer is deleted
		case b.BaseSequence() < next:
			done(Appended{Code: kafka.ErrDuplicateSequenceNumber})
			return
		case b.BaseSequence() != next:
			done(Appended{Code: kafka.ErrOutOfOrderSequenceNumber})
			return
		}
	}
	if end == 0 {
		b.Assign(base, r.epoch)
		r.log.append(b)
		end = b.NextOffset()
	}
	if acks != -1 || r.process.env.Bug == AckBeforeISR {
		done(Appended{Base: base})
	} else {
		r.waiting = append(r.waiting, modelWait{end, func(code kafka.ErrorCode) { done(Appended{Code: code, Base: base}) }})
	}
	r.advance()
}

// propose asks for an ISR; nil: there is nothing to ask for.
func (r *modelReplica) propose(list []meta.ISRReplica) {
	if list == nil {
		return
	}
	r.state.Asked(list)
	r.asked = r.partitionEpoch
	r.process.env.ProposeISR(meta.ISRChange{PartitionID: r.id, LeaderEpoch: r.epoch, PartitionEpoch: r.partitionEpoch,
		ISR: list})
	if r.process.env.Bug == ShrinkBeforeCommit {
		t, _ := r.process.image.TopicByID(r.id.Topic)
		var ids []kafka.BrokerID
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		r.state.Assign(t.Partitions[r.id.Partition].Replicas, ids)
	}
}

// heard notes a follower's fetch.
func (r *modelReplica) heard(from kafka.BrokerID, epoch kafka.BrokerEpoch, at kafka.Offset) bool {
	if r.state.Progress(isr.Position{ID: from, Epoch: epoch, End: at}, r.log.end(), r.process.env.Now()) != isr.Heard {
		return false
	}
	r.advance()
	r.propose(r.state.Join(from, r.log.hw, r.rules()))
	if r.process.env.Bug == JoinWithoutCatchingUp && !r.state.Pending() && !r.state.Member(from) {
		t, _ := r.process.image.TopicByID(r.id.Topic)
		s := &t.Partitions[r.id.Partition]
		list := []meta.ISRReplica{{ID: from, Epoch: epoch}}
		for _, id := range s.ISR {
			list = append(list, meta.ISRReplica{ID: id, Epoch: -1})
		}
		if slices.Contains(s.ISR, r.process.env.ID) {
			r.propose(list)
		}
	}
	return true
}
