package partition

import (
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
)

// TruncateForDivergence is what a follower does when the leader says that the epoch of
// its last record, or the largest one before it that the leader knows, ends at end: what
// the two don't have in common for certain goes (KIP-101, KIP-279). It may take several
// rounds of fetching. NoLeaderEpoch: the leader's log ends at end, and no epochs are
// known. role is the one of FetchState.
//
// The high watermark does not limit it: a leader that was elected without having been
// in sync may lack what was committed.
//
// Errors are those of AppendAsFollower. It waits for the disk.
func (p *Partition) TruncateForDivergence(role, epoch kafka.LeaderEpoch, end kafka.Offset) error {
	return p.cut(role, func(log *commitlog.Log) error {
		_, err := log.TruncateToEpoch(epoch, end)
		return err
	})
}

// TruncateFully drops all records; the next one that is appended gets offset to: the
// leader's log starts behind the end of the one here. Errors are those of
// AppendAsFollower. It waits for the disk.
func (p *Partition) TruncateFully(role kafka.LeaderEpoch, to kafka.Offset) error {
	return p.cut(role, func(log *commitlog.Log) error { return log.TruncateFullyAndStartAt(to) })
}

// cut takes records away from the end of a follower's log. The role can't change
// meanwhile. Checkpoints that speak of more than there is now are written before
// anything is appended again (settle): after a crash they would make damage of a torn
// tail, or give the log up.
func (p *Partition) cut(epoch kafka.LeaderEpoch, f func(*commitlog.Log) error) error {
	p.ctl.Lock()
	defer p.ctl.Unlock()
	if p.Offline() != nil {
		return errStorage
	}
	role, h := p.role.Load(), p.at()
	if role.Leading || role.Epoch != epoch {
		return ErrStaleRole
	}
	if h.dir.Full() {
		h.dir.ReleaseReserve() // the rest of a segment that is read is copied
	}
	start, point := h.log.StartOffset(), h.log.RecoveryPoint()
	err := f(h.log)
	if err == nil || h.log.Failure() == nil { // a full disk may have stopped it half way
		p.fitEnds(h, start)
	}
	if err != nil {
		err = p.followFailed(h, err)
	}
	if h.log.StartOffset() != start || h.log.RecoveryPoint() != point {
		h.owes.Store(true)
	}
	if p.Offline() == nil && h.pay() != nil {
		return errStorage
	}
	return err
}

// pay writes the checkpoints that a truncation owes, if it does. Caller holds ctl.
func (h *home) pay() error {
	if !h.owes.Load() {
		return nil
	}
	if err := h.dir.Checkpoint(); err != nil {
		h.failed("checkpoint after a truncation", err)
		return err
	}
	h.owes.Store(false)
	return nil
}

// settle comes before each append: a full disk may have kept the checkpoints of the last
// truncation from being written, and what is appended would be lost by them after a crash.
//
// Hot: 0 allocs; one atomic load.
func (h *home) settle() error {
	if !h.owes.Load() {
		return nil
	}
	h.p.ctl.Lock()
	defer h.p.ctl.Unlock()
	return h.pay()
}

// fitEnds makes what is known of a log's ends fit the log after a truncation: the high
// watermark lies between them, also in a log that begins anew where the leader's does.
// start is where it began before.
func (p *Partition) fitEnds(h *home, start kafka.Offset) {
	p.mu.Lock()
	end := h.log.EndOffset()
	lost := p.HighWatermark() - max(start, end)
	p.hw.Store(int64(min(max(p.HighWatermark(), h.log.StartOffset()), end)))
	p.asked, p.unseen = min(p.asked, end), 0
	p.mu.Unlock()
	h.dir.Appended()
	if lost > 0 {
		p.parts.Log.Error("records that were committed are gone: the leader does not have them, because it was elected without having been in sync, or lost its disk",
			"partition", p.tp.String(), "records", int64(lost), "end", int64(end))
	}
	p.purgatory.Nudge(&p.waiters)
}
