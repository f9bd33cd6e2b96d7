package replicatest

import (
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
)

// The bugs of a process are made where it touches the rooms below: they have no hooks
// of their own.

// plantApplied makes the bugs of configurations.
func (p *process) plantApplied() {
	if p.env.Bug == RememberFollowers {
		p.plantRemembered()
	}
	if p.env.Bug != IgnoreMinISR {
		return
	}
	for _, id := range p.held {
		h := p.find(id)
		c, topic := *h.Config(), *h.Config().Topic
		topic.MinInsyncReplicas = 1
		c.Topic = &topic
		h.SetConfig(&c)
	}
}

// plantRemembered tells leaders of a later epoch what their followers asked in the one
// before, unless they did not lead in between.
func (p *process) plantRemembered() {
	for _, id := range sortedIDs(p.remembered) { // in one order, or a seed would not be one run
		h, asked := p.find(id), p.remembered[id]
		if h == nil || !h.Role().Leading {
			delete(p.remembered, id)
			continue
		}
		for _, replica := range slices.Sorted(maps.Keys(asked)) {
			if q := asked[replica]; q.Epoch < h.Role().Epoch {
				q.Epoch, q.LastEpoch = h.Role().Epoch, kafka.NoLeaderEpoch
				var f partition.Fetched
				h.ReplicaFetch(&q, &f)
				if f.Range != nil {
					f.Range.Release()
				}
				asked[replica] = q
			}
		}
	}
}

// plantHeard remembers what a follower asked of a leader.
func (p *process) plantHeard(h *partition.Partition, q *partition.Fetch) {
	if p.env.Bug != RememberFollowers || q.Again || !h.Role().Leading || q.Epoch != h.Role().Epoch {
		return
	}
	if p.remembered == nil {
		p.remembered = map[meta.PartitionID]map[kafka.BrokerID]partition.Fetch{}
	}
	if p.remembered[idOf(h)] == nil {
		p.remembered[idOf(h)] = map[kafka.BrokerID]partition.Fetch{}
	}
	p.remembered[idOf(h)][q.Replica] = *q
}

// plantFollowed makes the bugs of new followers.
func (p *process) plantFollowed(h *partition.Partition) {
	if p.env.Bug == TruncateToHighWatermark {
		_, _, role := h.FetchState()
		_ = h.TruncateForDivergence(role, kafka.NoLeaderEpoch, h.HighWatermark()) // a failure shows elsewhere
	}
}

// plantProposed makes the bugs of leaders that have asked for an ISR.
func (p *process) plantProposed(h *partition.Partition, c *meta.ISRChange) {
	if p.env.Bug != ShrinkBeforeCommit {
		return
	}
	r := *h.Role()
	r.PartitionEpoch++
	r.ISR = nil
	for _, m := range c.ISR {
		r.ISR = append(r.ISR, m.ID)
	}
	_ = h.SetRole(r) // a failure shows elsewhere
}

// plantAsked makes the bugs of what a follower asks.
func (p *process) plantAsked(h *partition.Partition, q *partition.Fetch) {
	switch p.env.Bug {
	case SkipTruncation:
		q.LastEpoch = kafka.NoLeaderEpoch
	case JoinWithoutCatchingUp:
		r := h.Role()
		if q.Again || !r.Leading || slices.Contains(r.ISR, q.Replica) {
			return
		}
		list := []meta.ISRReplica{{ID: q.Replica, Epoch: q.ReplicaEpoch}}
		for _, id := range r.ISR {
			list = append(list, meta.ISRReplica{ID: id, Epoch: -1})
		}
		p.env.ProposeISR(meta.ISRChange{PartitionID: idOf(h), LeaderEpoch: r.Epoch, PartitionEpoch: r.PartitionEpoch, ISR: list, Recovered: true})
	}
}

// plantServed makes the bugs of what a leader answers.
func (p *process) plantServed(h *partition.Partition, f *partition.Fetched) {
	switch {
	case f.Code != kafka.None:
	case p.env.Bug == TrustHighWatermark:
		f.HighWatermark = h.EndOffset()
	case p.env.Bug == IgnoreLogStart:
		f.LogStart = 0
	}
}

// plantFound makes the bugs of a follower that begins anew.
func (p *process) plantFound(h *partition.Partition, timestamp int64, found *partition.Found) {
	if p.env.Bug == RestartAtEnd && timestamp == partition.Earliest {
		found.Offset = h.EndOffset()
	}
}

// plantDeleted makes the bugs of DeleteRecords.
func (p *process) plantDeleted(h *partition.Partition, before kafka.Offset) {
	if p.env.Bug == DeleteUncommitted && h.Role().Leading {
		_ = h.Log().SetStartOffset(min(before, h.EndOffset())) // a failure shows elsewhere
	}
}

// anonymous is a batch as if each attempt to send it were another producer's.
func (p *process) anonymous(b record.Batch) record.Batch {
	if b.ProducerID() < 0 {
		return b
	}
	o := record.PlainOptions(record.None)
	p.strangers++
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 1<<40+kafka.ProducerID(p.env.ID)<<32+p.strangers, 0, 0
	again := record.NewBuilder(o)
	for range b.Count() {
		again.Append(b.BaseTimestamp(), nil, []byte("again"), nil)
	}
	return again.Bytes()
}
