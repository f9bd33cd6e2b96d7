package partition

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/internal/logdir"
)

// CutOff says whether this broker has not heard of whoever decides for so long that
// others may lead what it leads. It changes nothing for a leader whose in-sync followers
// fetch: they acknowledge.
func (p *Parts) CutOff(is bool) { p.cutOff.Store(is) }

// GiveUp ends what clients have waited for longer than d, while a replica that it needs has
// not fetched for as long either, of a leader that is cut off: nobody can acknowledge it
// here, and another may lead by now, whom a client finds that is told to look for the
// leader. Until the high watermark moves again no more is taken with acks=all.
//
// The broker calls it from time to time while it is cut off. Cost: one load for a partition
// where nobody waits.
func (p *Partition) GiveUp(now time.Time, d time.Duration) {
	if p.waiting.Load() == 0 {
		return
	}
	var given []logdir.Waiter
	p.mu.Lock()
	if p.stale(now, d) {
		p.silent = true
		p.awaits = slices.DeleteFunc(p.awaits, func(a await) bool {
			if !p.inDoubt(&a) {
				return false
			}
			given = append(given, a.w)
			return true
		})
		p.waiting.Store(int32(len(p.awaits)))
	}
	p.mu.Unlock()
	for _, w := range given {
		w.Synced(errNotLeader)
	}
}

// stale says whether a client has waited for d in vain for a replica that was silent as
// long. Caller holds mu.
func (p *Partition) stale(now time.Time, d time.Duration) bool {
	if role := p.role.Load(); !role.Leading || p.followers == nil || !p.parts.cutOff.Load() {
		return false
	}
	return slices.ContainsFunc(p.awaits, func(a await) bool {
		return p.inDoubt(&a) && now.Sub(a.since) >= d && p.followers.Silent(a.upTo, now, d)
	})
}

// inDoubt says whether a client waits for what is not committed. A coordinator waits
// without a limit: it hears of the end of its role. Caller holds mu.
func (p *Partition) inDoubt(a *await) bool {
	return !a.deadline.IsZero() && a.upTo > p.HighWatermark()
}

// givesUp says whether an append with acks=all would wait in vain. Caller holds mu.
func (p *Partition) givesUp(acks int16) bool {
	return acks == AllReplicas && p.silent && p.parts.cutOff.Load()
}
