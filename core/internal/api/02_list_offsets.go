package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// ListOffsets (key 2), versions 1–11.
//
// Behaviour: earliest, latest, by timestamp, max timestamp (7), earliest local
// (8), latest tiered (9) and earliest pending upload (11); nothing is tiered here,
// so the last two find nothing. A special timestamp that the version does not have
// is UNSUPPORTED_VERSION for its partition, a partition that is named twice
// INVALID_REQUEST. Consumers see up to the high watermark or last stable offset,
// replicas and debugging consumers up to the log end.
//
// Lookups by time read the log, so they leave the connection's goroutine.

// specialSince is the version from which a special timestamp may be asked for.
var specialSince = map[int64]int16{
	partition.Latest: 1, partition.Earliest: 1, partition.MaxTimestamp: 7,
	partition.EarliestLocal: 8, partition.LatestTiered: 9, partition.EarliestPendingUpload: 11,
}

// listOffsets answers key 2.
func (a *API) listOffsets(r *wire.Request) {
	var q kmsg.ListOffsetsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	if !readsLog(&q) {
		r.ReplyMessage(a.offsetsOf(r, &q))
		return
	}
	a.later(r, func(context.Context) { r.ReplyMessage(a.offsetsOf(r, &q)) })
}

// readsLog reports whether an answer needs more than what is in memory.
func readsLog(q *kmsg.ListOffsetsRequest) bool {
	for i := range q.Topics {
		for _, p := range q.Topics[i].Partitions {
			if p.Timestamp >= 0 || p.Timestamp == partition.MaxTimestamp {
				return true
			}
		}
	}
	return false
}

// offsetsOf looks everything up.
func (a *API) offsetsOf(r *wire.Request, q *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	resp := kmsg.NewPtrListOffsetsResponse()
	view := partition.Everything
	if q.ReplicaID == int32(kafka.NoBroker) {
		view = partition.Uncommitted
		if q.IsolationLevel == 1 {
			view = partition.Committed
		}
	}
	counts := map[kafka.TopicPartition]int{}
	for i := range q.Topics {
		for _, p := range q.Topics[i].Partitions {
			counts[kafka.TopicPartition{Topic: q.Topics[i].Topic, Partition: p.Partition}]++
		}
	}
	for i := range q.Topics {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = q.Topics[i].Topic
		allowed := a.authorize(r, OpDescribe, ResourceTopic, t.Topic)
		for _, p := range q.Topics[i].Partitions {
			out := kmsg.NewListOffsetsResponseTopicPartition()
			out.Partition = p.Partition
			found, code := partition.Found{Offset: kafka.NoOffset, Timestamp: -1, Epoch: kafka.NoLeaderEpoch}, kafka.ErrTopicAuthorizationFailed
			switch {
			case !allowed:
			case q.IsolationLevel != 0 && q.IsolationLevel != 1:
				code = kafka.ErrUnknownServerError
			case counts[kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}] > 1:
				code = kafka.ErrInvalidRequest
			default:
				found, code = a.offsetOf(t.Topic, &p, view, r.Version)
			}
			out.ErrorCode = int16(code)
			out.Offset, out.Timestamp, out.LeaderEpoch = int64(found.Offset), found.Timestamp, int32(found.Epoch)
			t.Partitions = append(t.Partitions, out)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// offsetOf looks one partition's offset up.
func (a *API) offsetOf(topic string, q *kmsg.ListOffsetsRequestTopicPartition, view partition.View, version int16) (partition.Found, kafka.ErrorCode) {
	none := partition.Found{Offset: kafka.NoOffset, Timestamp: -1, Epoch: kafka.NoLeaderEpoch}
	if q.Timestamp < 0 {
		if since, ok := specialSince[q.Timestamp]; !ok || version < since {
			return none, kafka.ErrUnsupportedVersion
		}
	}
	p, code := a.deps.Roles.ByName(topic, q.Partition)
	if code != kafka.None {
		return none, code
	}
	found, code := p.ListOffset(q.Timestamp, view, kafka.LeaderEpoch(q.CurrentLeaderEpoch))
	if code == kafka.ErrOffsetNotAvailable && version < 5 {
		code = kafka.ErrLeaderNotAvailable
	}
	return found, code
}
