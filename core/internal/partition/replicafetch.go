package partition

import (
	"github.com/mortisemq/mortise/core/internal/isr"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// ReplicaFetch reads whole batches from an offset on for a follower, up to the log
// end, and takes its offset as what the follower has: the high watermark may rise, and
// the follower may join the in-sync replicas. NOT_LEADER_OR_FOLLOWER: it is no replica,
// or was started anew since.
//
// Hot: per partition and request of a follower. 0 allocs but the log's pooled Range.
func (p *Partition) ReplicaFetch(q *Fetch, out *Fetched) {
	role, h := p.role.Load(), p.at()
	out.fail(p.admitReader(role, q.Epoch, false))
	if out.Code != kafka.None || !p.locate(h, q, out) {
		return
	}
	if !q.Again {
		if !p.progress(role, q) {
			out.fail(kafka.ErrNotLeaderOrFollower)
			return
		}
		out.HighWatermark = p.HighWatermark() // as this very fetch has moved it
		out.LastStable = p.lastStable(out.HighWatermark)
	}
	end := h.log.EndOffset()
	if q.From >= end {
		return
	}
	if err := h.read(q, end, out); p.left(h, err) {
		q.Again = true
		p.ReplicaFetch(q, out)
	} else if err != nil {
		out.fail(h.logFailed("read", err))
	}
}

// progress notes what a follower has, and reports whether it is one under this role.
func (p *Partition) progress(role *Role, q *Fetch) bool {
	p.mu.Lock()
	if p.role.Load() != role {
		role = p.role.Load() // other in-sync replicas only, or it is refused
	}
	if p.followers == nil || q.Epoch != kafka.NoLeaderEpoch && role.Epoch != q.Epoch {
		p.mu.Unlock()
		return false
	}
	now := p.parts.Clock.Now()
	position := isr.Position{ID: q.Replica, Epoch: q.ReplicaEpoch, Start: q.LogStart, End: q.From}
	outcome := p.followers.Progress(position, p.EndOffset(), now)
	if outcome == isr.Stranger || outcome == isr.Outdated {
		p.mu.Unlock()
		return false
	}
	n := p.advance(role)
	var change *meta.ISRChange
	if p.parts.ProposeISR != nil && !p.followers.Member(q.Replica) && !now.Before(p.resting) {
		rules := p.parts.rules(p.config.Load())
		change = p.propose(role, p.followers.Join(q.Replica, p.HighWatermark(), &rules))
	}
	p.mu.Unlock()

	p.visible(n)
	if n > 0 {
		p.release()
	}
	if outcome == isr.Trimmed && p.waiters.Waiting() > 0 {
		p.purgatory.Nudge(&p.waiters) // who deletes records may wait for it
	}
	p.ask(change)
	return true
}
