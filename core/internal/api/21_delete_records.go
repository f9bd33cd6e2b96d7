package api

import (
	"context"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// DeleteRecords (key 21), versions 0–2.
//
// Behaviour: moves the log start of partitions that this broker leads, -1 meaning
// to the high watermark, and answers with the low watermark once every replica that is
// there has moved its own as far (KIP-107); when timeout.ms is over before,
// REQUEST_TIMED_OUT. Topics that are only compacted are refused (POLICY_VIOLATION),
// internal ones too (INVALID_TOPIC_EXCEPTION). It deletes files, so it leaves the
// connection's goroutine; it waits in the purgatory.

// deleteRecords answers key 21.
func (a *API) deleteRecords(r *wire.Request) {
	var q kmsg.DeleteRecordsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	a.later(r, func(context.Context) {
		c := &deletion{a: a, r: r, resp: kmsg.NewPtrDeleteRecordsResponse()}
		c.deadline = a.deps.Clock.Now().Add(time.Duration(q.TimeoutMillis) * time.Millisecond)
		for i := range q.Topics {
			c.topic(&q.Topics[i])
		}
		r.OnCancel(c.waiter.Cancel)
		c.wait()
	})
}

// deletion is one request on its way.
type deletion struct {
	a        *API
	r        *wire.Request
	resp     *kmsg.DeleteRecordsResponse
	deadline time.Time
	waiter   purgatory.Waiter
	pending  []pendingDeletion
}

// pendingDeletion is a partition whose followers have not come as far yet.
type pendingDeletion struct {
	partition *partition.Partition
	before    kafka.Offset
	seen      int64
	out       *kmsg.DeleteRecordsResponseTopicPartition
}

// topic moves the log starts of one topic.
func (c *deletion) topic(q *kmsg.DeleteRecordsRequestTopic) {
	t := kmsg.NewDeleteRecordsResponseTopic()
	t.Topic = q.Topic
	t.Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, len(q.Partitions)) // pending points into it
	allowed := c.a.authorize(c.r, OpDelete, ResourceTopic, q.Topic)
	for i, p := range q.Partitions {
		out := &t.Partitions[i]
		out.Default()
		out.Partition = p.Partition
		if !allowed {
			out.LowWatermark, out.ErrorCode = -1, int16(kafka.ErrTopicAuthorizationFailed)
			continue
		}
		c.deleteBefore(q.Topic, kafka.Offset(p.Offset), out)
	}
	c.resp.Topics = append(c.resp.Topics, t)
}

// deleteBefore moves one partition's log start.
func (c *deletion) deleteBefore(topic string, before kafka.Offset, out *kmsg.DeleteRecordsResponseTopicPartition) {
	p, code := c.a.deps.Roles.ByName(topic, out.Partition)
	if code == kafka.None && isInternalTopic(topic) {
		code = kafka.ErrInvalidTopic
	}
	start := kafka.NoOffset
	if code == kafka.None {
		start, code = p.DeleteRecords(before)
	}
	out.LowWatermark, out.ErrorCode = int64(kafka.NoOffset), int16(code)
	if code != kafka.None {
		return
	}
	if before == -1 {
		before = start
	}
	if w := (pendingDeletion{partition: p, before: before, out: out}); !w.done() {
		c.pending = append(c.pending, w)
	}
}

// done looks how far the replicas are, and reports whether there is no need to wait.
func (w *pendingDeletion) done() bool {
	w.seen = w.partition.Waiters().Progress()
	if !w.partition.Role().Leading {
		w.out.LowWatermark, w.out.ErrorCode = int64(kafka.NoOffset), int16(kafka.ErrNotLeaderOrFollower)
		return true
	}
	low := w.partition.LowWatermark()
	w.out.LowWatermark = int64(low)
	return low >= w.before
}

// wait waits for followers, or answers.
func (c *deletion) wait() {
	for len(c.pending) > 0 {
		entries := make([]purgatory.Entry, len(c.pending))
		for i := range c.pending {
			entries[i] = purgatory.Entry{List: c.pending[i].partition.Waiters(), Seen: c.pending[i].seen}
		}
		// Records that become visible are no reason to look; a nudge is.
		switch c.a.deps.Purgatory.Park(&c.waiter, entries, math.MaxInt64, c.deadline.Sub(c.a.deps.Clock.Now()), c) {
		case purgatory.Parked:
			return // c belongs to whoever finishes the waiter
		case purgatory.Gone, purgatory.Full:
			c.giveUp()
		case purgatory.Ready:
			c.look()
		}
	}
	c.r.ReplyMessage(c.resp)
}

// look keeps what still waits.
func (c *deletion) look() {
	left := c.pending[:0]
	for _, w := range c.pending {
		if !w.done() {
			left = append(left, w)
		}
	}
	c.pending = left
}

// giveUp ends the waiting: the records are gone here, and will be on the others.
func (c *deletion) giveUp() {
	for i := range c.pending {
		c.pending[i].out.ErrorCode = int16(kafka.ErrRequestTimedOut)
	}
	c.pending = nil
}

// Complete implements purgatory.Completer.
func (c *deletion) Complete(_ *purgatory.Waiter, why purgatory.Reason) {
	if why == purgatory.Cancelled {
		c.r.ReplyNone()
		return
	}
	c.look()
	if why != purgatory.Progress {
		c.giveUp()
	}
	c.wait()
}

var _ purgatory.Completer = (*deletion)(nil)
