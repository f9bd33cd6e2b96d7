package partition

import (
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
)

// The special timestamps of ListOffsets.
const (
	Latest                int64 = -1
	Earliest              int64 = -2
	MaxTimestamp          int64 = -3
	EarliestLocal         int64 = -4
	LatestTiered          int64 = -5
	EarliestPendingUpload int64 = -6
)

// View says how far into the log a lookup may see.
type View uint8

// The views.
const (
	Uncommitted View = iota // up to the high watermark
	Committed               // up to the last stable offset
	Everything              // up to the log end: replicas and debugging consumers
)

// Found is the answer to a lookup by time. Offset and Timestamp are -1 when there
// is none.
type Found struct {
	Offset    kafka.Offset
	Timestamp int64
	Epoch     kafka.LeaderEpoch // of the record at Offset; NoLeaderEpoch: not known
}

// nothing is the answer that there is no such offset.
var nothing = Found{Offset: kafka.NoOffset, Timestamp: -1, Epoch: kafka.NoLeaderEpoch}

// ListOffset looks an offset up by timestamp or special timestamp. It may read
// the log.
func (p *Partition) ListOffset(timestamp int64, view View, claimed kafka.LeaderEpoch) (Found, kafka.ErrorCode) {
	role := p.role.Load()
	if code := p.admitReader(role, claimed, false); code != kafka.None {
		return nothing, code
	}
	upper := p.upper(view)
	switch timestamp {
	case Earliest, EarliestLocal:
		log := p.Log()
		start := log.StartOffset()
		return Found{Offset: start, Timestamp: -1, Epoch: log.EpochOf(start)}, kafka.None
	case LatestTiered, EarliestPendingUpload:
		return nothing, kafka.None // nothing is tiered here
	}
	// Until the high watermark has reached this leader's first offset it may lie
	// behind what the leader before had shown (KIP-207).
	if view != Everything && p.HighWatermark() < role.start {
		return nothing, kafka.ErrOffsetNotAvailable
	}
	switch timestamp {
	case Latest:
		return Found{Offset: upper, Timestamp: -1, Epoch: role.Epoch}, kafka.None
	}
	for {
		h := p.at()
		at, ok, err := h.lookUp(timestamp, upper)
		switch {
		case p.left(h, err):
		case err != nil:
			return nothing, h.logFailed("look up", err)
		case !ok:
			return nothing, kafka.None
		default:
			return Found(at), kafka.None
		}
	}
}

// lookUp finds an offset below upper by timestamp, or with MaxTimestamp that of the
// largest one.
func (h *home) lookUp(timestamp int64, upper kafka.Offset) (commitlog.TimeOffset, bool, error) {
	if timestamp == MaxTimestamp {
		return h.log.MaxTimestampOffset(upper)
	}
	return h.log.OffsetForTimestamp(timestamp, upper)
}

// upper is the exclusive end of a view.
func (p *Partition) upper(v View) kafka.Offset {
	switch v {
	case Committed:
		return p.LastStable()
	case Everything:
		return p.EndOffset()
	}
	return p.HighWatermark()
}

// EpochEnd answers OffsetForLeaderEpoch: the largest epoch ≤ requested and where
// it ends; (-1, -1) when there is none.
func (p *Partition) EpochEnd(requested, claimed kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset, kafka.ErrorCode) {
	if code := p.admitReader(p.role.Load(), claimed, false); code != kafka.None {
		return kafka.NoLeaderEpoch, kafka.NoOffset, code
	}
	if requested < kafka.NoLeaderEpoch { // before every epoch: Kafka answers with the first one's start
		return requested, p.StartOffset(), kafka.None
	}
	epoch, end := p.Log().EpochEnd(requested)
	return epoch, end, kafka.None
}

// DeleteRecords moves the log start to an offset, -1 for the high watermark, and
// returns where the log starts then. It deletes files: not for a connection's
// goroutine.
//
// The new start is in the checkpoint within some seconds, as in Kafka: a crash before
// that shows records again whose segment was not deleted. Appends need not wait for
// it: the name of the last segment keeps the end of the log.
func (p *Partition) DeleteRecords(before kafka.Offset) (kafka.Offset, kafka.ErrorCode) {
	if code := p.admitReader(p.role.Load(), kafka.NoLeaderEpoch, false); code != kafka.None {
		return kafka.NoOffset, code
	}
	if !p.config.Load().Topic.CleanupDelete {
		return kafka.NoOffset, kafka.ErrPolicyViolation
	}
	hw := p.HighWatermark()
	if before == -1 {
		before = hw
	}
	if before < 0 || before > hw {
		return kafka.NoOffset, kafka.ErrOffsetOutOfRange
	}
	for {
		h := p.at()
		err := h.deleteRecords(before)
		if p.at() != h { // it has moved meanwhile, maybe without this change
			continue
		}
		if err != nil {
			return kafka.NoOffset, h.logFailed("delete records", err)
		}
		p.purgatory.Nudge(&p.waiters)
		p.purgatory.Nudge(&p.replicaWaiters) // their logs shall start there as well
		return h.log.StartOffset(), kafka.None
	}
}

// deleteRecords moves the log start to before, unless it is there or beyond.
func (h *home) deleteRecords(before kafka.Offset) error {
	if before <= h.log.StartOffset() {
		return nil
	}
	err := h.withReserve(func() error { return h.log.SetStartOffset(before) })
	if err == nil {
		h.dir.Appended()
	}
	return err
}

// Producers are the producers that the log remembers.
func (p *Partition) Producers() ([]commitlog.ProducerInfo, kafka.ErrorCode) {
	if code := p.admitReader(p.role.Load(), kafka.NoLeaderEpoch, false); code != kafka.None {
		return nil, code
	}
	return p.Log().Producers(), kafka.None
}
