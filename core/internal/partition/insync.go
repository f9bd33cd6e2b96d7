package partition

import (
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
)

// CheckISR looks whether followers that don't keep up must leave the in-sync replicas,
// and asks for it. The broker calls it for every partition, about twice in
// replica.lag.time.max.ms.
//
// Cost: a lock and a look at each follower; nothing for who leads no followers.
func (p *Partition) CheckISR(now time.Time) {
	if role := p.role.Load(); !role.Leading || role.alone() || p.Offline() != nil {
		return
	}
	p.mu.Lock()
	role := p.role.Load()
	if !role.Leading || p.followers == nil || p.parts.ProposeISR == nil { // it may be about to lead anew
		p.mu.Unlock()
		return
	}
	rules := p.parts.rules(p.config.Load())
	change := p.propose(role, p.followers.Shrink(p.EndOffset(), now, &rules))
	n := p.advance(role) // who lags does not hold it up any more, if it was about to join
	p.mu.Unlock()
	p.visible(n)
	p.release()
	p.ask(change)
}

// refusedPause is how long a refused leader does not ask to let anybody join: its view of
// the brokers is behind, and followers fetch thousands of times a second.
const refusedPause = 100 * time.Millisecond

// propose notes that other in-sync replicas are asked for; nil: none are. Caller holds
// mu, and calls ask afterwards.
func (p *Partition) propose(r *Role, want []meta.ISRReplica) *meta.ISRChange {
	if want == nil {
		return nil
	}
	p.followers.Asked(want)
	return &meta.ISRChange{
		PartitionID: meta.PartitionID{Topic: p.topicID, Partition: p.tp.Partition},
		LeaderEpoch: r.Epoch, PartitionEpoch: r.PartitionEpoch, ISR: want, Recovered: true,
	}
}

// ask hands a change to whoever asks the cluster. Caller does not hold mu.
func (p *Partition) ask(c *meta.ISRChange) {
	if c != nil {
		p.parts.ProposeISR(p, c)
	}
}

// ISRAnswered takes the cluster's answer to a change that this leader asked for, and
// reports whether it must be asked again: nobody knows then whether it was done, and
// until that is known both the old and the new replicas hold the high watermark.
func (p *Partition) ISRAnswered(c *meta.ISRChange, answer meta.ISRResult) (again bool) {
	p.mu.Lock()
	role := p.role.Load()
	if p.followers == nil || !p.followers.Pending() || role.Epoch != c.LeaderEpoch || role.PartitionEpoch != c.PartitionEpoch {
		p.mu.Unlock()
		return false // an image was faster
	}
	next, left := &answer.State, false
	same := next.LeaderEpoch == role.Epoch && next.Leader == role.Leader
	switch code := codeOf(answer.Err); {
	case same && next.PartitionEpoch > role.PartitionEpoch:
		left = len(next.ISR) < len(role.ISR)
		role = p.agree(role, next)
	case code == kafka.None && same: // nothing was changed
		p.followers.Refused()
	case code == kafka.None, code == kafka.ErrFencedLeaderEpoch, code == kafka.ErrNewLeaderElected, code == kafka.ErrInvalidUpdateVersion,
		code == kafka.ErrUnknownTopicID, code == kafka.ErrUnknownTopicOrPartition:
		// The image says soon what this broker is now. It may not be able to tell here
		// whether an earlier try was done, so both sets count until then.
	case code == kafka.ErrIneligibleReplica, code == kafka.ErrOperationNotAttempted, code == kafka.ErrInvalidRequest:
		p.followers.Refused()
		p.resting = p.parts.Clock.Now().Add(refusedPause)
	default:
		again = true
	}
	n := p.advance(role)
	p.mu.Unlock()
	p.visible(n)
	p.release()
	if left {
		p.purgatory.Nudge(&p.replicaWaiters) // who caught up meanwhile wants to be in sync again
	}
	return again
}

// agree takes over what the cluster has agreed on within the leader epoch. Caller
// holds mu.
func (p *Partition) agree(old *Role, s *meta.Partition) *Role {
	r := *old
	r.PartitionEpoch, r.Replicas, r.ISR, r.Recovering = s.PartitionEpoch, s.Replicas, s.ISR, s.Recovering
	p.count(old, &r)
	if r.alone() {
		p.followers = nil
	} else {
		p.followers.Assign(r.Replicas, r.ISR)
	}
	p.role.Store(&r)
	return &r
}

// isrShrinks and isrExpands count changes of the in-sync replicas.
func isrShrinks(m *metrics.Registry) *metrics.Counter {
	return m.Counter("mortise_partition_isr_shrinks_total", "Replicas that left the in-sync ones of a partition that this broker leads, counted per change.")
}

func isrExpands(m *metrics.Registry) *metrics.Counter {
	return m.Counter("mortise_partition_isr_expands_total", "Replicas that joined the in-sync ones of a partition that this broker leads, counted per change.")
}

// Measure makes the metrics of partitions that are to be seen before anything was
// counted: that nothing changes is worth knowing.
func Measure(m *metrics.Registry) {
	isrShrinks(m)
	isrExpands(m)
}

// count counts a change of the in-sync replicas that this leader sees.
func (p *Partition) count(old, next *Role) {
	switch {
	case len(next.ISR) < len(old.ISR):
		isrShrinks(p.parts.Metrics).Add(1)
	case len(next.ISR) > len(old.ISR):
		isrExpands(p.parts.Metrics).Add(1)
	}
}

// codeOf is the code of an answer.
func codeOf(err *kafka.Error) kafka.ErrorCode {
	if err == nil {
		return kafka.None
	}
	return err.Code
}

// ReplicaInSync reports whether a replica is in sync, as the cluster has agreed.
func (p *Partition) ReplicaInSync(id kafka.BrokerID) bool {
	_, _, in := p.FollowerAt(id)
	return in
}

// FollowerAt is where a follower's log starts and ends as this leader knows it, NoOffset
// when it does not, and whether the follower is in sync.
func (p *Partition) FollowerAt(id kafka.BrokerID) (start, end kafka.Offset, inSync bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.followers == nil {
		return kafka.NoOffset, kafka.NoOffset, false
	}
	return p.followers.Follower(id)
}

// LowWatermark is the least log start of the replicas that are there: before it nothing
// is left anywhere (KIP-107). NoOffset: a replica was not heard of yet.
func (p *Partition) LowWatermark() kafka.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.followers == nil {
		return p.StartOffset()
	}
	rules := p.parts.rules(p.config.Load())
	return p.followers.LowWatermark(p.StartOffset(), &rules)
}
