package partition

import (
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
)

// Fetch is what a reader wants of one partition.
type Fetch struct {
	From      kafka.Offset
	Epoch     kafka.LeaderEpoch // that the reader believes in; NoLeaderEpoch: any
	LastEpoch kafka.LeaderEpoch // of the last record it has; NoLeaderEpoch: unknown
	MaxBytes  int
	MinOne    bool // the first batch comes whole, however large
	Committed bool // read_committed

	// Anywhere lets a follower answer, too (KIP-392).
	Anywhere bool

	// The rest is for ReplicaFetch.
	Replica      kafka.BrokerID
	ReplicaEpoch kafka.BrokerEpoch // of its registration
	LogStart     kafka.Offset      // of the replica's log
	// Again: it is looked at once more because it waited; what the replica has was noted
	// the first time.
	Again bool
}

// Fetched is what a reader gets. Who gets a Range must release it.
type Fetched struct {
	Code          kafka.ErrorCode
	HighWatermark kafka.Offset // -1 on most errors
	LastStable    kafka.Offset
	LogStart      kafka.Offset

	Range   *commitlog.Range // nil: no records
	Aborted []commitlog.Aborted

	DivergingEpoch kafka.LeaderEpoch // NoLeaderEpoch: none
	DivergingEnd   kafka.Offset
}

// fail resets the answer to an error.
func (f *Fetched) fail(code kafka.ErrorCode) {
	*f = Fetched{
		Code: code, HighWatermark: kafka.NoOffset, LastStable: kafka.NoOffset, LogStart: kafka.NoOffset,
		DivergingEpoch: kafka.NoLeaderEpoch, DivergingEnd: kafka.NoOffset,
	}
}

// Fetch reads whole batches from an offset on: never past the high watermark, or
// the last stable offset with Committed. A fetch between there and the log end is
// empty without an error.
//
// Hot: per partition and request. 0 allocs but the log's pooled Range.
func (p *Partition) Fetch(q *Fetch, out *Fetched) {
	role, h := p.role.Load(), p.at()
	out.fail(p.admitReader(role, q.Epoch, q.Anywhere))
	if out.Code != kafka.None || !p.locate(h, q, out) {
		return
	}
	upper := out.HighWatermark
	if q.Committed {
		upper = out.LastStable
	}
	if q.From >= upper {
		return
	}
	if err := h.read(q, upper, out); p.left(h, err) {
		p.Fetch(q, out)
	} else if err != nil {
		out.fail(h.logFailed("read", err))
	}
}

// locate fills in where the log is and compares it with what the reader has, and
// reports whether there may be records for it.
func (p *Partition) locate(h *home, q *Fetch, out *Fetched) bool {
	start, end, hw := h.log.StartOffset(), h.log.EndOffset(), p.HighWatermark()
	parted := diverged(h.log, q, out)
	if out.Code == kafka.None && !parted && (q.From < start || q.From > end) {
		out.Code = kafka.ErrOffsetOutOfRange // alone, as Kafka answers it
	}
	if out.Code != kafka.None {
		return false
	}
	out.HighWatermark, out.LastStable, out.LogStart = hw, p.lastStable(hw), start
	return !parted
}

// read fills in the records below upper.
func (h *home) read(q *Fetch, upper kafka.Offset, out *Fetched) error {
	var s commitlog.Slice
	var err error
	o := commitlog.ReadOptions{MaxBytes: q.MaxBytes, Upper: upper, MinOne: q.MinOne}
	if q.Committed {
		s, out.Aborted, err = h.log.ReadCommitted(q.From, o)
	} else {
		s, err = h.log.Read(q.From, o)
	}
	out.Range = s.Range
	return err
}

// diverged compares the reader's history with ours (KIP-595's DivergingEpoch) and
// reports whether the answer is ready.
func diverged(log *commitlog.Log, q *Fetch, out *Fetched) bool {
	if q.LastEpoch < 0 {
		return false
	}
	epoch, end := log.EpochEnd(q.LastEpoch)
	switch {
	case epoch < 0 || end < 0:
		out.fail(kafka.ErrOffsetOutOfRange)
		return true
	case epoch < q.LastEpoch || end < q.From:
		out.DivergingEpoch, out.DivergingEnd = epoch, end
		return true
	}
	return false
}
