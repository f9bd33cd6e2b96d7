package partition

import (
	"errors"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// AllReplicas is the acks value that waits for all in-sync replicas.
const AllReplicas = -1

// Append is one batch that a client wants to append. The caller owns it and may
// use it again.
type Append struct {
	Batch   record.Batch // exactly one; its offset and epoch fields are written to
	Acks    int16
	Version int16 // of the produce request

	rules record.Rules // scratch
}

// Appended is what became of an Append.
type Appended struct {
	Code    kafka.ErrorCode
	Message string               // for the client; empty: none
	Records []record.RecordError // which records were refused

	Base         kafka.Offset // NoOffset on error
	AppendTimeMS int64        // -1 with CreateTime
	Start        kafka.Offset // log start offset; NoOffset on error

	// Await is the end of what must be flushed, or with AllReplicas committed, before
	// the answer goes out: pass it to Partition.AwaitWithin. NoOffset: answer now.
	Await kafka.Offset
	Epoch kafka.LeaderEpoch // in which it was appended
}

// refused is an Appended with an error.
func refused(code kafka.ErrorCode, message string) Appended {
	return Appended{Code: code, Message: message, Base: kafka.NoOffset, AppendTimeMS: -1, Start: kafka.NoOffset, Await: kafka.NoOffset}
}

// Append checks a batch and appends it, in the order of Kafka's checks. Storage
// errors never get out as anything but KAFKA_STORAGE_ERROR.
//
// Hot: per batch. 0 allocs, one write.
func (p *Partition) Append(a *Append) Appended {
	out := p.append(a)
	switch out.Code {
	case kafka.None, kafka.ErrKafkaStorageError, kafka.ErrNotLeaderOrFollower, kafka.ErrMessageTooLarge,
		kafka.ErrRecordListTooLarge, kafka.ErrCorruptMessage:
	default:
		out.Start = p.StartOffset() // as Kafka does for the errors that say something about the log
	}
	return out
}

// append does the work of Append.
func (p *Partition) append(a *Append) Appended {
	role, c := p.role.Load(), p.config.Load()
	if p.broken.Load() != nil || p.at().dir.Writable() != nil {
		return refused(kafka.ErrKafkaStorageError, "")
	}
	if !role.Leading {
		return refused(kafka.ErrNotLeaderOrFollower, "")
	}
	if p.at().settle() != nil {
		return refused(kafka.ErrKafkaStorageError, "")
	}
	if a.Acks == AllReplicas && role.underMin(c.Topic.MinInsyncReplicas) {
		return refused(kafka.ErrNotEnoughReplicas, "")
	}
	now := clock.Millis(p.parts.Clock.Now())
	a.rules = c.Rules
	a.rules.TP, a.rules.ProduceVersion, a.rules.NowMS = p.tp, a.Version, now
	v, err := record.Validate(a.Batch, &a.rules)
	if err != nil {
		return invalid(err)
	}
	if v.Reason != record.Unchanged {
		p.parts.Metrics.Counter("mortise_partition_rewritten_batches_total", "Batches that were changed before they were stored, by reason.", "reason", v.Reason.String()).Add(1)
	}
	return p.write(role, c, &v, now, a.Acks)
}

// write appends a validated batch if the role is still the one it was admitted
// with.
func (p *Partition) write(role *Role, c *Config, v *record.Validated, now int64, acks int16) Appended {
	p.mu.Lock()
	if p.role.Load() != role || p.givesUp(acks) {
		p.mu.Unlock()
		return refused(kafka.ErrNotLeaderOrFollower, "")
	}
	h := p.at()
	done, err := h.log.Append(v.Batch, role.written, commitlog.AppendInfo{
		MaxTimestamp: v.MaxTimestamp, OffsetOfMaxTimestamp: v.OffsetOfMaxTimestamp,
		LogAppendTimeMS: v.LogAppendTimeMS, NowMS: now,
	})
	if err != nil {
		p.mu.Unlock()
		return refused(h.logFailed("append", err), "")
	}
	if !done.Duplicate {
		p.unseen += int64(len(v.Batch))
	}
	visible := p.advance(role)
	await := p.flushPolicy(h, c, done.Last+1)
	if acks == AllReplicas && p.followers != nil && p.HighWatermark() <= done.Last {
		await = done.Last + 1
	}
	p.mu.Unlock()

	h.dir.Appended()
	p.visible(visible)
	if !role.alone() {
		p.purgatory.Advance(&p.replicaWaiters, int64(len(v.Batch)))
		p.release() // with the others out of sync it is committed at once
	}
	out := Appended{Base: done.Base, AppendTimeMS: v.LogAppendTimeMS, Start: done.StartOffset, Await: await, Epoch: role.Epoch}
	if done.Duplicate {
		out.AppendTimeMS = done.AppendTimeMS
	}
	return out
}

// flushPolicy says whether an append that ends at end must wait for a flush
// (flush.messages), and asks for one within flush.ms otherwise. Caller holds mu.
func (p *Partition) flushPolicy(h *home, c *Config, end kafka.Offset) kafka.Offset {
	if int64(end-p.asked) >= c.Log.FlushMessages {
		p.asked = max(p.asked, end)
		return end
	}
	if c.Log.FlushMessages == 1 && end > h.log.RecoveryPoint() {
		return end // a duplicate whose original is still in the air
	}
	if ms := c.Log.FlushMS; ms >= 0 && ms < maxFlushMS {
		h.dir.Syncer.FlushWithin(&h.pending, time.Duration(ms)*time.Millisecond)
	}
	return kafka.NoOffset
}

// maxFlushMS is where flush.ms stops meaning anything: some 292 years.
const maxFlushMS = int64(1<<63-1) / int64(time.Millisecond)

// Flush asks for a flush that nobody waits for.
func (p *Partition) Flush() {
	h := p.at()
	h.dir.Syncer.Flush(&h.pending)
}

// invalid turns a refusal of record.Validate into an answer.
func invalid(err error) Appended {
	var bad *record.InvalidError
	if errors.As(err, &bad) {
		out := refused(bad.Code, bad.Message)
		out.Records = bad.Records
		return out
	}
	var ke *kafka.Error
	if errors.As(err, &ke) {
		return refused(ke.Code, "")
	}
	return refused(kafka.ErrCorruptMessage, "")
}
