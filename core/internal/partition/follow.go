package partition

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// FetchState is what a follower fetches with: from where, the epoch of its last record
// (NoLeaderEpoch: it has none), and the leader epoch that it follows in, by which the
// answer is then appended.
func (p *Partition) FetchState() (end kafka.Offset, last, role kafka.LeaderEpoch) {
	log := p.Log()
	return log.EndOffset(), log.LatestEpoch(), p.role.Load().Epoch
}

// AppendAsFollower appends what the leader answered to a fetch that was sent in the
// leader epoch of FetchState: whole batches as they are, b may be empty; and follows the
// leader's high watermark and log start. It returns the end of the log. b is not kept.
//
// Batches of a later epoch than the one that was fetched in are dropped: another leader
// wrote them, and its history may be another one than what is in the log here
// (KAFKA-18723).
//
// Errors: ErrStaleRole when this broker does not follow in that epoch any more,
// ErrBadAnswer when the bytes are not what a leader sends, a *kafka.Error
// KAFKA_STORAGE_ERROR when the log can't be used. With flush.messages=1 the disk must have
// what was appended, also before an error, before the next fetch tells the leader what
// this copy has: disk is told when that is so, and the caller waits for it.
//
// Hot: per partition and answer. 0 allocs; one pass over the bytes for their checksums,
// one write.
func (p *Partition) AppendAsFollower(b []byte, epoch kafka.LeaderEpoch, leaderHW, leaderStart kafka.Offset, disk *Flush) (kafka.Offset, error) {
	if p.Offline() != nil {
		return kafka.NoOffset, errStorage
	}
	good, bad := p.sound(b, epoch)
	if h := p.at(); len(good) > 0 {
		if err := h.settle(); err != nil {
			h.stuck.Store(vfs.IsNoSpace(err))
			return p.EndOffset(), errStorage
		}
	}
	known, err := p.beginInside(good, epoch, leaderStart)
	if err != nil {
		return p.EndOffset(), err
	}
	h, visible, flush, err := p.follow(good, epoch, max(leaderHW, known))
	if flush {
		p.flush(h, disk)
	}
	if err != nil {
		return p.EndOffset(), p.followFailed(h, err)
	}
	p.visible(visible)
	if start := min(leaderStart, p.HighWatermark()); start > h.log.StartOffset() {
		if err := h.deleteRecords(start); err != nil && !p.left(h, err) {
			return p.EndOffset(), p.followFailed(h, err)
		}
	}
	return p.EndOffset(), bad
}

// sound is the part of a leader's answer that can be appended: whole batches with right
// checksums, none of a later epoch than the one it was fetched in.
func (p *Partition) sound(b []byte, epoch kafka.LeaderEpoch) ([]byte, error) {
	for rest := b; len(rest) > 0; {
		batch, next, err := record.Next(rest)
		if errors.Is(err, record.ErrShort) {
			return b[:len(b)-len(rest)], nil // a fetch may end within a batch
		}
		if err == nil {
			err = batch.CheckCRC()
		}
		if err != nil {
			return b[:len(b)-len(rest)], fmt.Errorf("%s: after %d bytes: %w: %w", p.tp, len(b)-len(rest), ErrBadAnswer, err)
		}
		if batch.LeaderEpoch() > epoch {
			return b[:len(b)-len(rest)], nil
		}
		rest = next
	}
	return b, nil
}

// follow appends sound batches under the role that they were fetched in, and moves the
// high watermark. flush: the disk must have them before anybody is told.
func (p *Partition) follow(good []byte, epoch kafka.LeaderEpoch, leaderHW kafka.Offset) (h *home, visible int64, flush bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	role, c := p.role.Load(), p.config.Load()
	h = p.at()
	if role.Leading || role.Epoch != epoch || p.gone {
		return h, 0, false, ErrStaleRole
	}
	before := h.log.EndOffset()
	err = h.log.AppendReplicated(good, clock.Millis(p.parts.Clock.Now()))
	end := h.log.EndOffset()
	if end > before {
		if h.stuck.Load() {
			h.stuck.Store(false)
		}
		p.unseen += int64(len(good))
		h.dir.Appended()
		flush = p.flushPolicy(h, c, end) != kafka.NoOffset
	}
	return h, p.raise(min(leaderHW, end), end), flush, err
}

// flush tells disk when all that is in the log is on the disk, or with a larger
// flush.messages asks for a flush alone.
func (p *Partition) flush(h *home, disk *Flush) {
	if p.config.Load().Log.FlushMessages != 1 {
		h.dir.Syncer.Flush(&h.pending)
		return
	}
	disk.Begin()
	h.dir.Syncer.Wait(&h.pending, h.log.EndOffset(), disk)
}

// followFailed turns an error of the log into one for the fetcher.
func (p *Partition) followFailed(h *home, err error) error {
	switch {
	case errors.Is(err, ErrStaleRole):
		return err
	case errors.Is(err, commitlog.ErrClosed):
		return ErrStaleRole // deleted, or in another directory by now
	case errors.Is(err, commitlog.ErrStorage), errors.Is(err, commitlog.ErrCorrupt):
		if vfs.IsNoSpace(err) {
			h.stuck.Store(true)
		}
		h.failed("append as follower", err)
		return errStorage
	case errors.Is(err, commitlog.ErrOffsetOutOfRange), errors.Is(err, commitlog.ErrEpochBack),
		errors.Is(err, record.ErrCorrupt), errors.Is(err, record.ErrShort):
		return fmt.Errorf("%s: %w: %w", p.tp, ErrBadAnswer, err)
	}
	h.failed("append as follower", err)
	return errStorage
}

// beginInside lets a log begin anew where the first batch does, if the end of the log is
// within that batch: the leader's log starts within it, because records were deleted. The
// log is empty then, or has another history before its leader's start, after an election
// of who was not in sync. It returns the high watermark that was known of an empty log,
// which a new leader may not know yet.
func (p *Partition) beginInside(good []byte, epoch kafka.LeaderEpoch, leaderStart kafka.Offset) (kafka.Offset, error) {
	if len(good) == 0 {
		return kafka.NoOffset, nil
	}
	log := p.Log()
	end := log.EndOffset()
	first, _, err := record.Next(good)
	if err != nil || first.BaseOffset() >= end || first.LastOffset() < end || log.StartOffset() != end && first.BaseOffset() >= leaderStart {
		return kafka.NoOffset, nil
	}
	known := p.HighWatermark()
	if log.StartOffset() != end {
		known = kafka.NoOffset // of another history
	}
	return known, p.TruncateFully(epoch, first.BaseOffset())
}
