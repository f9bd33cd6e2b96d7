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
	if code := p.admitReader(role, claimed); code != kafka.None {
		return nothing, code
	}
	upper := p.upper(view)
	switch timestamp {
	case Earliest, EarliestLocal:
		start := p.log.StartOffset()
		return Found{Offset: start, Timestamp: -1, Epoch: p.log.EpochOf(start)}, kafka.None
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
	case MaxTimestamp:
		return p.found(p.log.MaxTimestampOffset(upper))
	}
	return p.found(p.log.OffsetForTimestamp(timestamp, upper))
}

// upper is the exclusive end of a view.
func (p *Partition) upper(v View) kafka.Offset {
	switch v {
	case Committed:
		return p.LastStable()
	case Everything:
		return p.log.EndOffset()
	}
	return p.HighWatermark()
}

// found turns a lookup of the log into an answer.
func (p *Partition) found(at commitlog.TimeOffset, ok bool, err error) (Found, kafka.ErrorCode) {
	if err != nil {
		return nothing, p.logFailed("look up", err)
	}
	if !ok {
		return nothing, kafka.None
	}
	return Found(at), kafka.None
}

// EpochEnd answers OffsetForLeaderEpoch: the largest epoch ≤ requested and where
// it ends; (-1, -1) when there is none.
func (p *Partition) EpochEnd(requested, claimed kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset, kafka.ErrorCode) {
	if code := p.admitReader(p.role.Load(), claimed); code != kafka.None {
		return kafka.NoLeaderEpoch, kafka.NoOffset, code
	}
	if requested < kafka.NoLeaderEpoch { // before every epoch: Kafka answers with the first one's start
		return requested, p.log.StartOffset(), kafka.None
	}
	epoch, end := p.log.EpochEnd(requested)
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
	if code := p.admitReader(p.role.Load(), kafka.NoLeaderEpoch); code != kafka.None {
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
	if before > p.log.StartOffset() {
		if err := p.withReserve(func() error { return p.log.SetStartOffset(before) }); err != nil {
			return kafka.NoOffset, p.logFailed("delete records", err)
		}
		p.dir.Appended()
		p.purgatory.Nudge(&p.waiters)
	}
	return p.log.StartOffset(), kafka.None
}

// Producers are the producers that the log remembers.
func (p *Partition) Producers() ([]commitlog.ProducerInfo, kafka.ErrorCode) {
	if code := p.admitReader(p.role.Load(), kafka.NoLeaderEpoch); code != kafka.None {
		return nil, code
	}
	return p.log.Producers(), kafka.None
}
