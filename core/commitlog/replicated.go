package commitlog

import (
	"fmt"

	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// AppendReplicated appends whole batches of the leader, which lie one after the other in
// b, as they are: with the leader's offsets and epochs. Gaps between their offsets are
// those that compaction made; a batch that begins before EndOffset is ErrOffsetOutOfRange,
// and one of an earlier epoch than the log's latest ErrEpochBack. The batches before it
// are appended then: EndOffset tells.
//
// Hot: per partition and answer of the leader. 0 allocs; 1 pwrite, and one more per roll.
func (l *Log) AppendReplicated(b []byte, nowMS int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	for len(b) > 0 {
		n, refused := l.run(b)
		if n > 0 {
			if err := l.appendRun(b[:n], nowMS); err != nil {
				return err
			}
		}
		if refused != nil {
			return refused
		}
		b = b[n:]
	}
	return nil
}

// run is how many bytes of b, which is not empty, can be written at once: batches that
// follow each other and fit into one segment. An error says why the batch after them
// can't be appended. Caller holds mu.
func (l *Log) run(b []byte) (n int, refused error) {
	active, most := l.active(), l.config.Load().SegmentBytes
	size, base := active.Size(), active.Base()
	end, epoch := l.EndOffset(), l.epochs.latest()
	for n < len(b) {
		next, _, err := record.Next(b[n:])
		if err != nil {
			return n, fmt.Errorf("%s: batch of the leader at offset %d: %w", l.tp, end, err)
		}
		if _, _, err := next.EndTxnMarker(); err != nil {
			return n, fmt.Errorf("%s: marker of the leader at offset %d: %w", l.tp, end, err)
		}
		switch {
		case next.BaseOffset() < end || next.NextOffset() <= next.BaseOffset():
			return n, fmt.Errorf("%s: batch at offset %d, the log ends at %d: %w", l.tp, next.BaseOffset(), end, ErrOffsetOutOfRange)
		case next.LeaderEpoch() < epoch:
			return n, fmt.Errorf("%w: batch at offset %d of epoch %d, the latest of %s is %d", ErrEpochBack, next.BaseOffset(), next.LeaderEpoch(), l.tp, epoch)
		case n > 0 && (size+int64(n+len(next)) > most || next.LastOffset()-base > segment.OffsetsMax):
			return n, nil
		}
		n, end, epoch = n+len(next), next.NextOffset(), next.LeaderEpoch()
	}
	return n, nil
}

// appendRun writes a run and makes it visible. Caller holds mu.
func (l *Log) appendRun(run []byte, nowMS int64) error {
	first, _, err := record.Next(run)
	if err != nil {
		return err
	}
	if err := l.rollFor(first, &AppendInfo{MaxTimestamp: first.MaxTimestamp(), NowMS: nowMS}); err != nil {
		return err
	}
	active := l.active()
	l.fresh = l.fresh || active.Size() == 0 // this makes the file
	if err := active.AppendAll(run, nowMS); err != nil {
		return l.writeFailed(err)
	}
	for len(run) > 0 {
		b, rest, err := record.Next(run)
		if err != nil {
			return err
		}
		if err := l.replicated(b, nowMS); err != nil {
			return err
		}
		run = rest
	}
	return nil
}

// replicated is what append does with a batch that is written. Caller holds mu.
func (l *Log) replicated(b record.Batch, nowMS int64) error {
	p := plan{epoch: b.LeaderEpoch(), out: Appended{Base: b.BaseOffset(), Last: b.LastOffset()}}
	if b.ProducerID() >= 0 {
		if _, err := l.admitProducer(&p, b, OriginReplication); err != nil {
			return l.fail(err) // run has read it
		}
	}
	return l.appended(&p, b, &AppendInfo{NowMS: nowMS, Origin: OriginReplication})
}

// TruncateToEpoch is what a follower does when the leader says that its epoch, the
// largest one that is not later than the follower's, ends at end: everything goes that
// the leader does not have for certain (KIP-101, KIP-279). When the follower does not
// know the epoch, it goes back to the end of the one before, and asks again. The high
// watermark has no say: what is below it may be gone on the leader after an unclean
// election, and what is above it may be committed.
//
// It returns the new end. The owner writes the checkpoints as after Truncate.
func (l *Log) TruncateToEpoch(epoch kafka.LeaderEpoch, end kafka.Offset) (kafka.Offset, error) {
	if end < 0 {
		return l.EndOffset(), fmt.Errorf("%s: truncate to offset %d of epoch %d: %w", l.tp, end, epoch, ErrOffsetOutOfRange)
	}
	err := l.alone(func() error { return l.truncate(l.CommonEnd(epoch, end)) })
	return l.EndOffset(), err
}
