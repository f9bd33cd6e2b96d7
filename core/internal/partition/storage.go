package partition

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
)

// StartOffset is the first offset that may be read.
func (p *Partition) StartOffset() kafka.Offset { return p.at().log.StartOffset() }

// EndOffset is the offset that the next record gets.
func (p *Partition) EndOffset() kafka.Offset { return p.at().log.EndOffset() }

// RecoveryPoint is the offset below which everything is on the disk.
func (p *Partition) RecoveryPoint() kafka.Offset { return p.at().log.RecoveryPoint() }

// SizeBytes is the size of the log.
func (p *Partition) SizeBytes() int64 { return p.at().log.SizeBytes() }

// DeleteOldest deletes the n oldest segments, which end at end, for retention; the
// active one counts and is rolled first. It refuses to go beyond the high watermark,
// and when the segments are not those that the caller saw: compaction makes one of
// several.
func (p *Partition) DeleteOldest(n int, end kafka.Offset, reason string) error {
	h := p.at()
	segments := h.log.Segments()
	if n <= 0 || n > len(segments) {
		return fmt.Errorf("%s: delete %d segments of %d: %w", p.tp, n, len(segments), ErrNotDeletable)
	}
	if next := segments[n-1].Next; next != end {
		return fmt.Errorf("%s: delete %d segments up to offset %d, they end at %d now: %w", p.tp, n, end, next, commitlog.ErrChanged)
	}
	limit := p.lastStable(p.HighWatermark())
	if next := segments[n-1].Next; next > limit {
		return fmt.Errorf("%s: delete up to offset %d beyond %d: %w", p.tp, next, limit, ErrNotDeletable)
	}
	if segments[n-1].Active {
		if err := h.withReserve(h.log.Roll); err != nil {
			h.failed("roll", err)
			return fmt.Errorf("%s: roll before retention: %w", p.tp, err)
		}
	}
	err := h.withReserve(func() error { return h.log.DeleteOldest(n, end, reason) })
	if errors.Is(err, commitlog.ErrChanged) {
		return err
	}
	if err != nil {
		h.failed("delete segments", err)
		return fmt.Errorf("%s: delete %d segments: %w", p.tp, n, err)
	}
	h.dir.Appended()
	p.purgatory.Nudge(&p.waiters)
	return nil
}
