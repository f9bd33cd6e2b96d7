package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// DeleteRecords (key 21), versions 0–2.
//
// Behaviour: moves the log start of partitions that this broker leads, -1 meaning
// to the high watermark; answers with the low watermark. Topics that are only
// compacted are refused (POLICY_VIOLATION), internal ones too
// (INVALID_TOPIC_EXCEPTION). It deletes files, so it leaves the connection's
// goroutine.
//
// Not done: waiting for followers. Until replication moves in, the leader's log
// start is the low watermark.

// deleteRecords answers key 21.
func (a *API) deleteRecords(r *wire.Request) {
	var q kmsg.DeleteRecordsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	a.later(r, func(context.Context) {
		resp := kmsg.NewPtrDeleteRecordsResponse()
		for i := range q.Topics {
			t := kmsg.NewDeleteRecordsResponseTopic()
			t.Topic = q.Topics[i].Topic
			allowed := a.authorize(r, OpDelete, ResourceTopic, t.Topic)
			for _, p := range q.Topics[i].Partitions {
				out := kmsg.NewDeleteRecordsResponseTopicPartition()
				out.Partition = p.Partition
				low, code := kafka.NoOffset, kafka.ErrTopicAuthorizationFailed
				if allowed {
					low, code = a.deleteBefore(t.Topic, p.Partition, kafka.Offset(p.Offset))
				}
				out.LowWatermark, out.ErrorCode = int64(low), int16(code)
				t.Partitions = append(t.Partitions, out)
			}
			resp.Topics = append(resp.Topics, t)
		}
		r.ReplyMessage(resp)
	})
}

// deleteBefore moves one partition's log start.
func (a *API) deleteBefore(topic string, number int32, before kafka.Offset) (kafka.Offset, kafka.ErrorCode) {
	p, code := a.deps.Roles.ByName(topic, number)
	switch {
	case code != kafka.None:
		return kafka.NoOffset, code
	case isInternalTopic(topic):
		return kafka.NoOffset, kafka.ErrInvalidTopic
	}
	return p.DeleteRecords(before)
}
